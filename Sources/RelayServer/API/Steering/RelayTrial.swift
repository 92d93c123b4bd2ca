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

  /// What a trial found out about a relay.
  enum Finding: Equatable {
    /// It takes envelopes, and has the upstream.
    case good
    /// It takes envelopes. Whether it has the upstream could not be seen, for this reason.
    case unseen(String)
    /// It takes no envelopes that go to the upstream, for this reason.
    case fault(String)
  }

  /// What the answers show.
  ///
  /// - Parameters:
  ///   - response: Its answer to ``post``.
  ///   - names: Its answer to ``list``; nil if it gave none.
  ///   - upstream: The name of the upstream that it is to forward to.
  static func finding(
    _ response: UpstreamResponse, names: UpstreamResponse?, upstream: String
  ) -> Finding {
    guard isOfRelay(response) else { return .fault("it does not take envelopes as a relay does") }
    let unseen =
      "whether it has an upstream \(upstream.quoted) (batch.upstream) could not be seen: "
    guard let names else { return .unseen(unseen + "it did not say what upstreams it has") }
    switch names.status {
    case 401, 403: return .fault("the token is of one client, and posts for no other")
    case 200:
      let document = try? JSONValue.parse(names.body)
      guard let list = try? document?["upstreams"]?.array(), !names.isTruncated else {
        return .unseen(unseen + "its list of upstreams cannot be read")
      }
      let isThere = list.contains { one in
        (try? one["name"]?.string()) == upstream && (try? one["configured"]?.bool()) == true
      }
      return isThere ? .good : .fault("it has no upstream \(upstream.quoted) (batch.upstream)")
    default: return .unseen(unseen + "it answered \(names.status) when asked for its upstreams")
    }
  }
}
