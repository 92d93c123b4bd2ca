import JSON
import RelayCore

/// What another relay is asked in a trial, and what its answers show.
///
/// It is posted a batch without an envelope. That stores nothing, and whoever may post is told that
/// the batch is empty; a token that may only read is refused. Then it is asked for its upstreams,
/// since it would refuse envelopes for one that it does not have.
enum RelayTrial {
  static let post = UpstreamTrial.Question(
    method: "POST", path: "/v1/envelopes", body: "[]", answerBytesMax: 4096)
  static let list = UpstreamTrial.Question(
    method: "GET", path: "/v1/upstreams", answerBytesMax: 1 << 20)

  /// Whether the answer to ``post`` is that of a relay that takes posts.
  static func isOfRelay(_ response: UpstreamResponse) -> Bool {
    guard response.status == 422, let problem = try? JSONValue.parse(response.body),
      let type = try? problem["type"]?.string()
    else { return false }
    return type == "urn:waystation:problem:invalid-field"
  }

  /// What keeps the relay from taking envelopes; nil if nothing was found.
  ///
  /// - Parameters:
  ///   - response: Its answer to ``post``.
  ///   - names: Its answer to ``list``; nil if it was not asked, or did not answer.
  ///   - upstream: The name of the upstream that it is to forward to.
  static func fault(
    _ response: UpstreamResponse, names: UpstreamResponse?, upstream: String
  ) -> String? {
    guard isOfRelay(response) else { return "it does not take envelopes as a relay does" }
    guard let names else { return nil }
    switch names.status {
    case 401, 403: return "the token is of one client, and posts for no other"
    case 200:
      guard let list = try? JSONValue.parse(names.body)["upstreams"]?.array() else { return nil }
      let isThere = list.contains { one in
        (try? one["name"]?.string()) == upstream && (try? one["configured"]?.bool()) == true
      }
      return isThere ? nil : "it has no upstream \(upstream.quoted) (batch.upstream)"
    default: return nil
    }
  }
}
