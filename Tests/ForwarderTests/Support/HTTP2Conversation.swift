/// The server's side of HTTP/2 (RFC 9113) on a ``RawConnection``, as little as requests without a
/// body need.
final class HTTP2Conversation {
  private enum FrameType {
    static let headers: UInt8 = 1
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
  }

  private let connection: RawConnection

  /// Takes the client's preface; nil if there is none.
  init?(_ connection: RawConnection) {
    self.connection = connection
    guard connection.read(count: 24)?.starts(with: "PRI * HTTP/2.0".utf8) == true else {
      return nil
    }
    send(FrameType.settings)
  }

  /// Answers the next request with 200; false if there is none.
  func answerNext() -> Bool {
    while let head = connection.read(count: 9) {
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      guard connection.read(count: length) != nil else { return false }
      if head[3] == FrameType.settings, head[4] & 1 == 0 { send(FrameType.settings, flags: 1) }
      guard head[3] == FrameType.headers else { continue }
      // END_STREAM and END_HEADERS; 0x88 is `:status: 200` (RFC 7541 appendix A).
      send(FrameType.headers, flags: 5, stream: Array(head[5...]), [0x88])
      return true
    }
    return false
  }

  /// Asks whether the client is still there.
  func ping() { send(FrameType.ping, [UInt8](repeating: 7, count: 8)) }

  private func send(
    _ type: UInt8, flags: UInt8 = 0, stream: [UInt8] = [0, 0, 0, 0], _ payload: [UInt8] = []
  ) {
    connection.send([0, 0, UInt8(payload.count), type, flags] + stream + payload)
  }
}
