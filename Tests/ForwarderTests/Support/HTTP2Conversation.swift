/// The server's side of HTTP/2 (RFC 9113) on a ``RawConnection``, frame by frame as a test says.
final class HTTP2Conversation {
  /// The frames that are sent or looked for.
  enum FrameType {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let resetStream: UInt8 = 3
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
  }

  /// What a frame from the client says, but for its payload.
  struct Frame {
    let type: UInt8
    let flags: UInt8
    /// As it stands in the frame.
    let stream: [UInt8]
  }

  private let connection: RawConnection

  /// Takes the client's preface; nil if there is none.
  ///
  /// - Parameter isClosed: Whether no request may send any of its body: the window is 0.
  init?(_ connection: RawConnection, isClosed: Bool = false) {
    self.connection = connection
    guard connection.read(count: 24)?.starts(with: "PRI * HTTP/2.0".utf8) == true else {
      return nil
    }
    // SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 section 6.5.2).
    send(FrameType.settings, isClosed ? [0, 4, 0, 0, 0, 0] : [])
  }

  /// The next frame, with settings acknowledged; nil if the client has gone.
  func readFrame() -> Frame? {
    guard let head = connection.read(count: 9) else { return nil }
    let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
    guard connection.read(count: length) != nil else { return nil }
    let frame = Frame(type: head[3], flags: head[4], stream: Array(head[5...]))
    if frame.type == FrameType.settings, frame.flags & 1 == 0 { send(FrameType.settings, flags: 1) }
    return frame
  }

  /// The stream of the next request, whose header has come; nil if there is none.
  func nextHead() -> [UInt8]? {
    while let frame = readFrame() {
      if frame.type == FrameType.headers { return frame.stream }
    }
    return nil
  }

  /// The stream of the next request that has come whole; nil if there is none.
  func nextRequest() -> [UInt8]? {
    while let frame = readFrame() {
      let isBodyOrHead = frame.type == FrameType.headers || frame.type == FrameType.data
      // END_STREAM.
      if isBodyOrHead, frame.flags & 1 == 1 { return frame.stream }
    }
    return nil
  }

  /// Answers a request with 200 and no body.
  func answer(_ stream: [UInt8]) {
    // END_STREAM and END_HEADERS; 0x88 is `:status: 200` (RFC 7541 appendix A).
    send(FrameType.headers, flags: 5, stream: stream, [0x88])
  }

  /// Answers the next request with 200; false if there is none.
  func answerNext() -> Bool {
    guard let stream = nextRequest() else { return false }
    answer(stream)
    return true
  }

  /// Begins to answer with 200 and a body of 100 bytes, of which 4 come.
  func answerInPart(_ stream: [UInt8]) {
    // `content-length: 100`, a literal with the name's index 28 (RFC 7541 section 6.2.2).
    send(
      FrameType.headers, flags: 4, stream: stream, [0x88, 0x0F, 0x0D, 3] + Array("100".utf8))
    send(FrameType.data, stream: stream, Array("half".utf8))
  }

  /// Says that no request behind `stream` was looked at, and that the connection ends.
  func goAway(last stream: [UInt8]) { send(FrameType.goAway, stream + [0, 0, 0, 0]) }

  /// Asks whether the client is still there.
  func ping() { send(FrameType.ping, [UInt8](repeating: 7, count: 8)) }

  /// Sends a frame, well-formed or not.
  func send(
    _ type: UInt8, flags: UInt8 = 0, stream: [UInt8] = [0, 0, 0, 0], _ payload: [UInt8] = []
  ) {
    connection.send([0, 0, UInt8(payload.count), type, flags] + stream + payload)
  }
}
