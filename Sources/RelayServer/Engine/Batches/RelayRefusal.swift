import Forwarder
import JSON
import RelayCore

/// What another relay refuses, where it is this relay's own token or settings and no envelope.
///
/// It answers with a problem document (RFC 9457). Its kinds are compared as texts, since whoever
/// answers may be another release.
enum RelayRefusal: Equatable {
  /// The token is none of its, or has ended, or was revoked, or does not allow the call: no
  /// envelope would be taken. The words are the other relay's, one line of visible ASCII.
  case ofToken(words: String)
  /// The token is good, but not for this envelope's client.
  case ofClient
  /// It forwards to no upstream of the name that this relay gives it, the same for all envelopes.
  case ofUpstream

  /// The most bytes of an answer's body that are needed to know it as one of these.
  static let bytesMax = 4096
  /// The most bytes of the other relay's words that are told.
  private static let wordsBytesMax = 160

  private static let unauthenticated = "urn:waystation:problem:unauthenticated"
  private static let forbidden = "urn:waystation:problem:forbidden"
  private static let unknownUpstream = "urn:waystation:problem:unknown-upstream"
  /// How the names of those limits begin that are of one client.
  private static let clientLimits = "client"

  /// Looks at an answer to a post of several, to one envelope that was handed on by itself, or at
  /// the result for one of several; nil if it is none of these.
  init?(_ response: UpstreamResponse) {
    let type: String
    switch response.status {
    case 401: type = Self.unauthenticated
    case 403: type = Self.forbidden
    case 404, 422: type = Self.unknownUpstream
    default: return nil
    }
    guard response.body.count <= Self.bytesMax,
      let problem = try? JSONValue.parse(response.body), Self.text(problem["type"]) == type
    else { return nil }
    guard type != Self.unknownUpstream else {
      self = .ofUpstream
      return
    }
    // What names a field says of the envelope that it names another client than the token's.
    guard problem["field"] == nil else {
      self = .ofClient
      return
    }
    let words = Self.text(problem["detail"]) ?? ""
    self = .ofToken(words: words.visibleASCII(bytesMax: Self.wordsBytesMax))
  }

  /// Whether an answer for a whole post says nothing of its envelopes.
  ///
  /// A relay has a result for each, so that somebody before it has answered, or it has not looked
  /// at them. 413, and a relay's 422, are for what is in the post.
  static func isOfRequest(_ response: UpstreamResponse) -> Bool {
    switch response.status {
    case 200..<300, 413: false
    case 422: !RelayAnswer.isProblemOfEnvelope(try? JSONValue.parse(response.body))
    default: true
    }
  }

  /// Whether an answer says that one client has used up a quota, so that others' is taken.
  static func isOfClient(_ response: UpstreamResponse) -> Bool {
    guard response.status == 429, response.body.count <= bytesMax,
      let problem = try? JSONValue.parse(response.body)
    else { return false }
    return text(problem["limit"])?.hasPrefix(clientLimits) == true
  }

  private static func text(_ value: JSONValue?) -> String? { value.flatMap { try? $0.string() } }
}

extension AttemptReport {
  /// What the next relay's answer means, as it stands in the report, for one envelope.
  ///
  /// A refusal of this relay's token is as if no answer had come, since nothing of an envelope was
  /// looked at. If it is the token for one client, that client's lane alone waits.
  ///
  /// - Parameters:
  ///   - target: The next relay.
  ///   - showsToken: Whether the request can have had no credential but this relay's own: a
  ///     sender's must not hold up others.
  mutating func read(fromRelay target: UpstreamTarget, showsToken: Bool) {
    guard case .answered(let response) = event else { return }
    event = .answered(response.keeping(bodyBytesMax: target.responseBodyBytesMax))
    switch RelayRefusal(response) {
    case nil: isOfClient = RelayRefusal.isOfClient(response)
    case .ofToken(let words) where showsToken:
      let said = words.isEmpty ? "" : " (\(words))"
      event = .failed(
        .credentials,
        detail:
          "\(target.url.authority) refused the relay's token: it answered \(response.status)\(said)"
      )
      isWritten = false
      isUnclear = false
    case .ofToken, .ofClient: isUnclear = true
    case .ofUpstream:
      let name = (target.batch?.upstream ?? "").quoted
      event = .failed(
        .notForwarded,
        detail:
          "\(target.url.authority) has no upstream \(name), to which batch.upstream has it forward")
      isWritten = false
    }
  }
}
