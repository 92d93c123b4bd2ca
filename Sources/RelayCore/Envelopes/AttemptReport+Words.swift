// An attempt's end in words and figures, for the record and for people.

extension AttemptReport {
  /// The status of the upstream's answer; nil if none came.
  package var status: Int? {
    if case .answered(let response) = event { response.status } else { nil }
  }

  /// The end as a part of a sentence, such as "the upstream answered 503".
  package var sentence: String { event.sentence }

  /// The same with what the upstream said: it stands in the record of the attempt.
  package var fullSentence: String { words.map { "\(sentence) “\($0)”" } ?? sentence }

  /// What is said of an answer.
  package static func sentence(ofAnswer status: Int) -> String {
    successes.contains(status)
      ? successSentences[status - successes.lowerBound] : "the upstream answered \(status)"
  }

  /// Kept ready, since nearly every attempt needs one of them.
  private static let successSentences = successes.map { "the upstream answered \($0)" }
  private static let successes = 200..<300

  /// Whether the attempt ended by the relay's own doing, which says nothing of the upstream.
  var saysNothingOfUpstream: Bool {
    switch event {
    case .failed(.local, _), .failed(.brokenOff, _), .unsendable: true
    case .answered, .failed: false
    }
  }

  /// The answer, if it is to be kept: only a change that blocks or ends leaves somebody to ask for
  /// it.
  func response(keptFor change: Transition.Change) -> UpstreamResponse? {
    guard case .answered(let response) = event else { return nil }
    switch change {
    case .block, .end: return response
    case .begin, .retry, .release, .edit, .requeue: return nil
    }
  }

  /// The wait that the upstream asked for by `Retry-After` (RFC 9110 section 10.2.3), in
  /// milliseconds from now; nil if it asked for none that can be read.
  ///
  /// A date is read off the upstream's clock, so it is compared with that clock (`Date`, RFC 9110
  /// section 6.6.1), and with the relay's own only where the answer has no `Date`.
  package func retryAfterMs(at now: WallTime) -> Int64? {
    guard case .answered(let response) = event,
      let text = response.headers.first("Retry-After")
    else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
      guard let seconds = Int64(text), seconds <= Int64.max / 1000 else { return Int64.max }
      return seconds * 1000
    }
    let sentAt = response.headers.first("Date").flatMap { HTTPDate.parse($0.utf8, now: now) }
    return HTTPDate.parse(text.utf8, now: now).map { max(0, $0.milliseconds(since: sentAt ?? now)) }
  }
}

extension AttemptRecord {
  /// What the upstream said, as ``AttemptReport/fullSentence`` has it; nil if nothing.
  package var words: String? {
    guard let status, let error else { return nil }
    let beginning = AttemptReport.sentence(ofAnswer: status) + " “"
    guard error.hasPrefix(beginning), error.hasSuffix("”") else { return nil }
    return String(error.dropFirst(beginning.count).dropLast())
  }
}

extension AttemptEvent {
  /// The most bytes of a sentence that is made of more than the relay's own words.
  ///
  /// It stands in the record of each envelope that went along, and an upstream's answer, a file's
  /// name or a sender's reference may be quoted in it.
  static let sentenceBytesMax = 1024

  /// It as a part of a sentence, in one line.
  package var sentence: String {
    switch self {
    case .answered(let response): AttemptReport.sentence(ofAnswer: response.status)
    case .failed(let failure, let detail):
      detail.isEmpty ? failure.sentence : detail.plainLine(bytesMax: Self.sentenceBytesMax)
    case .unsendable(let reason): reason.plainLine(bytesMax: Self.sentenceBytesMax)
    }
  }
}

extension ConnectionFailure {
  /// The failure in words.
  package var sentence: String {
    switch self {
    case .nameResolution: "the upstream's name could not be resolved"
    case .connect: "no connection could be made"
    case .tls: "the connection could not be secured"
    case .timeout: "the upstream took too long"
    case .cut: "the connection was cut"
    case .malformedResponse: "what came back was no HTTP"
    case .token: "no access token could be fetched"
    case .credentials: "the relay's credentials were refused"
    case .notForwarded: "the next relay does not forward there"
    case .local: "the relay could not send the request"
    case .brokenOff: "the relay broke the attempt off"
    }
  }
}
