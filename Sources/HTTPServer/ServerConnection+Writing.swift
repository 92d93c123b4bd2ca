import EventLoop

extension ServerConnection {
  /// Sends two buffers in order.
  ///
  /// It suspends while the peer is slow to take them. It also suspends from time to time when the
  /// peer is quick, since a response may be endless.
  func write(_ first: [UInt8], _ second: [UInt8] = []) async throws(SystemError) {
    let total = first.count + second.count
    guard total > 0 else { return }
    // Most responses are sent whole at once; then nothing is called that could wait.
    let sent = try stream.writeAtOnce(first, second)
    if sent < total {
      let stallMs = state.limits.writeStallTimeoutMs
      try await stream.write(first, second, from: sent, stallMs: stallMs)
    }
    traffic.sent += Int64(total)
    givenBytes += total
    if givenBytes >= Self.turnBytesMax {
      givenBytes = 0
      await Task.yield()
    }
  }
}
