import Forwarder
import JSON
import RelayCore

/// What an answer means for an envelope that was handed on to another relay by itself.
///
/// Between two relays stand proxies, and networks that answer with a page of their own. Only a
/// relay's receipt says that the next relay has the envelope, and only what that relay says of the
/// envelope refuses it.
enum RelayAnswer: Equatable {
  /// The next relay has stored it, or had it before.
  case receipt
  /// It will not be taken as it is.
  case refusal
  /// 2xx of somebody who is no relay.
  case noReceipt
  /// It is not about the envelope.
  case unclear

  /// The most bytes of an answer's body that are looked at.
  static let bytesMax = 4096

  /// What too large requests are answered with, also by what stands before a relay.
  private static let tooLarge = StatusSet(codes: [413, 414, 431])

  /// How the types of a relay's problems begin.
  private static let problemPrefix = "urn:waystation:problem:"
  /// How those go on that are about the way to the relay, or about who asks.
  ///
  /// They are texts, since whoever answers may be another release.
  private static let kindsOfOthers = [
    "unauthenticated", "forbidden", "cross-site", "unknown-host", "not-found", "unknown-upstream",
    "method-not-allowed", "request-timeout", "relay-loop",
  ]

  /// Reads an answer.
  init(_ response: UpstreamResponse) {
    let isShort = response.body.count <= Self.bytesMax
    let document = isShort ? try? JSONValue.parse(response.body) : nil
    guard !(200..<300).contains(response.status) else {
      let hasId = response.headers.first("Waystation-Id").map(Self.isId) ?? false
      self = hasId || document.map(Self.isTaken(_:)) ?? false ? .receipt : .noReceipt
      return
    }
    let isRefusal =
      Self.tooLarge.contains(response.status)
      || (Self.isOfClientError(response.status) && Self.isProblemOfEnvelope(document))
    self = isRefusal ? .refusal : .unclear
  }

  /// Whether a relay's result says that it has the envelope: with its id there, which only a
  /// duplicate may lack, since that may be forgotten.
  static func isTaken(_ result: JSONValue) -> Bool {
    switch text(result["result"]).flatMap(PostResult.init(rawValue:)) {
    case .accepted, .coalesced: text(result["id"]).map(isId) ?? false
    case .duplicate: true
    case .void, nil: false
    }
  }

  private static func isId(_ text: String) -> Bool { EnvelopeID(parsing: text) != nil }

  /// Whether a problem document is a relay's, about what it was posted.
  static func isProblemOfEnvelope(_ document: JSONValue?) -> Bool {
    guard let type = text(document?["type"]), type.hasPrefix(problemPrefix) else { return false }
    return !kindsOfOthers.contains(String(type.dropFirst(problemPrefix.count)))
  }

  /// 408 and 429 are answered to what may come again.
  private static func isOfClientError(_ status: Int) -> Bool {
    (400..<500).contains(status) && !OutcomeRules.standard.retry.contains(status)
  }

  private static func text(_ value: JSONValue?) -> String? { value.flatMap { try? $0.string() } }
}

extension UpstreamResponse {
  /// The status and the type of the body, by which a person sees who has answered.
  var statusAndType: String {
    guard let type = headers.first("Content-Type"), !type.isEmpty else { return "\(status)" }
    return "\(status) with \(type.visibleASCII(bytesMax: Self.typeBytesMax))"
  }

  private static let typeBytesMax = 60
}

extension AttemptReport {
  /// What the next relay's answer, as it stands in the report, means for an envelope that was
  /// handed on by itself.
  mutating func read(alone target: UpstreamTarget) {
    guard case .answered(let response) = event else { return }
    read(fromRelay: target, showsToken: target.fixesAuthorization)
    guard case .answered = event else { return }
    switch RelayAnswer(response) {
    case .receipt, .refusal: return
    case .unclear: isUnclear = true
    case .noReceipt:
      event = .failed(
        .malformedResponse,
        detail: "\(target.url.authority) did not answer as a relay does, with an envelope's id:"
          + " it answered \(response.statusAndType)")
    }
  }
}
