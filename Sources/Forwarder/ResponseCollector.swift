import RelayCore

/// Collects an upstream's response: decides how much is kept, and when it is enough.
///
/// It sees libcurl's callbacks as plain values and returns whether to continue, so the rules can be
/// tested without a connection.
struct ResponseCollector {
  /// The reason that the transfer was ended early from here.
  private enum Ending {
    case answerIsEnough
    case malformed(String)
  }

  private var head: ResponseHead
  private var body: [UInt8] = []
  /// The number of bytes of the body that have come in, kept or not.
  private(set) var bodyBytesSeen: Int64 = 0
  /// The number of bytes of header lines that have come in.
  private(set) var headerBytesSeen = 0
  private var ending: Ending?
  private let bodyBytesMax: Int
  private let drainBytesMax: Int
  private let hasNoBody: Bool

  /// Begins a response.
  ///
  /// - Parameters:
  ///   - bodyBytesMax: The most bytes of the body that are kept.
  ///   - hasNoBody: Whether the response ends with its header, whatever `Content-Length` says: it
  ///     answers HEAD.
  init(bodyBytesMax: Int, limits: ForwarderLimits, hasNoBody: Bool) {
    head = ResponseHead(bytesMax: limits.responseHeaderBytesMax)
    self.bodyBytesMax = bodyBytesMax
    drainBytesMax = limits.responseDrainBytesMax
    self.hasNoBody = hasNoBody
  }

  /// Receives a line of the header; false to end the transfer.
  mutating func receiveHeaderLine(_ line: Span<UInt8>) -> Bool {
    headerBytesSeen += line.count
    guard !head.isComplete else { return true }
    switch head.receive(line) {
    case .goesOn: return true
    case .complete:
      // Only reached if a HEAD carried a body: libcurl then does not treat it as a HEAD, and would
      // wait for a body that never comes.
      guard hasNoBody else { return true }
      ending = .answerIsEnough
      return false
    case .malformed(let reason):
      ending = .malformed(reason)
      return false
    }
  }

  /// Receives a piece of the body; false to end the transfer.
  mutating func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bodyBytesSeen += Int64(bytes.count)
    let room = bodyBytesMax - body.count
    body.append(contentsOf: bytes.prefix(room))
    guard bodyBytesSeen <= Int64(bodyBytesMax) + Int64(drainBytesMax) else {
      ending = .answerIsEnough
      return false
    }
    return true
  }

  /// The result of a transfer, by libcurl's result and what had come by then.
  enum Verdict {
    /// There is a response, which came with so many fields.
    case answered(UpstreamResponse, fieldCount: Int)
    /// There is a response that is not valid.
    case malformed(String)
    /// There is no response; the transfer's own error says why.
    case none
  }

  /// Judges the response.
  ///
  /// - Parameters:
  ///   - succeeded: Whether the transfer ended normally.
  ///   - failedInSending: Whether it ended because the upstream did not take the rest of the
  ///     request.
  consuming func verdict(succeeded: Bool, failedInSending: Bool) -> Verdict {
    if case .malformed(let reason) = ending { return .malformed(reason) }
    guard head.isComplete, let status = head.status else {
      return succeeded ? .malformed("no complete answer came") : .none
    }
    // A response that came before the whole request was sent is the response.
    let isEnough = if case .answerIsEnough = ending { true } else { false }
    guard succeeded || isEnough || failedInSending || isWhole else { return .none }
    let isTruncated = bodyBytesSeen > Int64(body.count) || (failedInSending && !isWhole)
    return .answered(
      UpstreamResponse(
        status: status, headers: head.headers(), body: body, isTruncated: isTruncated),
      fieldCount: head.fieldCount)
  }

  /// Whether the whole response has come, as far as its header tells.
  private var isWhole: Bool {
    if hasNoBody || head.status == 204 || head.status == 304 { return true }
    return head.contentLength.map { $0 == bodyBytesSeen } ?? false
  }
}
