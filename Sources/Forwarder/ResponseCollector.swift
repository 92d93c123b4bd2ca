import RelayCore

/// An upstream's answer while it comes in: how much is kept, and when it has been enough.
///
/// It sees libcurl's callbacks as plain values and says whether to go on, so the rules can be
/// tested without a connection.
struct ResponseCollector {
  /// Why the transfer was ended from here, before libcurl would have ended it.
  private enum Ending {
    case answerIsEnough
    case malformed(String)
  }

  private var head: ResponseHead
  private var body: [UInt8] = []
  /// How many bytes of the body have come in, kept or not.
  private(set) var bodyBytesSeen: Int64 = 0
  /// How many bytes of header lines have come in.
  private(set) var headerBytesSeen = 0
  private var ending: Ending?
  private let bodyBytesMax: Int
  private let drainBytesMax: Int
  private let hasNoBody: Bool

  /// Begins an answer.
  ///
  /// - Parameters:
  ///   - bodyBytesMax: How much of the body is kept.
  ///   - hasNoBody: Whether the answer ends with its header, whatever `Content-Length` says: it is
  ///     one to HEAD.
  init(bodyBytesMax: Int, limits: ForwarderLimits, hasNoBody: Bool) {
    head = ResponseHead(bytesMax: limits.responseHeaderBytesMax)
    self.bodyBytesMax = bodyBytesMax
    drainBytesMax = limits.responseDrainBytesMax
    self.hasNoBody = hasNoBody
  }

  /// Takes one line of the header; false if the transfer is to end.
  mutating func receiveHeaderLine(_ line: Span<UInt8>) -> Bool {
    headerBytesSeen += line.count
    guard !head.isComplete else { return true }
    switch head.receive(line) {
    case .goesOn: return true
    case .complete:
      // Only seen where a HEAD carried a body, so that libcurl does not know it for a HEAD; it
      // would wait for a body that never comes.
      guard hasNoBody else { return true }
      ending = .answerIsEnough
      return false
    case .malformed(let reason):
      ending = .malformed(reason)
      return false
    }
  }

  /// Takes a piece of the body; false if the transfer is to end.
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

  /// How the transfer ended: libcurl's word, the one from here, and what had come by then.
  enum Verdict {
    /// There is an answer.
    case answered(UpstreamResponse)
    /// There is one that makes no sense.
    case malformed(String)
    /// There is none; the transfer's own error says why.
    case none
  }

  /// Judges what came.
  ///
  /// - Parameters:
  ///   - succeeded: Whether the transfer ended as it should.
  ///   - failedInSending: Whether it ended since the upstream would not take the rest of the
  ///     request.
  consuming func verdict(succeeded: Bool, failedInSending: Bool) -> Verdict {
    if case .malformed(let reason) = ending { return .malformed(reason) }
    guard head.isComplete, let status = head.status else {
      return succeeded ? .malformed("no complete answer came") : .none
    }
    // An answer that came before the request was sent to its end is the answer.
    let isEnough = if case .answerIsEnough = ending { true } else { false }
    guard succeeded || isEnough || failedInSending || isWhole else { return .none }
    let isTruncated = bodyBytesSeen > Int64(body.count) || (failedInSending && !isWhole)
    return .answered(
      UpstreamResponse(
        status: status, headers: head.headers(), body: body, isTruncated: isTruncated))
  }

  /// Whether all of the answer is here, as far as its header tells.
  private var isWhole: Bool {
    if hasNoBody || head.status == 204 || head.status == 304 { return true }
    return head.contentLength.map { $0 == bodyBytesSeen } ?? false
  }
}
