import EventLoop

extension Connection {
  /// Sends two buffers one after the other; suspends while the peer is slow to take them, and from
  /// time to time where it is quick, since an answer may be without end.
  func write(_ first: [UInt8], _ second: [UInt8] = []) async throws(SystemError) {
    let total = first.count + second.count
    guard total > 0 else { return }
    // Most answers go out whole at once, and then nothing is called that could wait.
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
