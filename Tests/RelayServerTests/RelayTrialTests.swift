import RelayCore
import Testing

@testable import RelayServer

@Suite("What a trial finds out about another relay")
struct RelayTrialTests {
  private static let posted = answer(
    #"{"type": "urn:waystation:problem:invalid-field"}"#, status: 422)

  private static func answer(
    _ text: String, status: Int = 200, isTruncated: Bool = false
  ) -> UpstreamResponse {
    UpstreamResponse(
      status: status, headers: HeaderBlock(), body: Array(text.utf8), isTruncated: isTruncated)
  }

  private static func finding(_ names: UpstreamResponse?) -> RelayTrial.Finding {
    RelayTrial.finding(posted, names: names, upstream: "hub")
  }

  @Test("it is good if it takes posts and has the upstream")
  func good() {
    let names = #"{"upstreams": [{"name": "a"}, {"name": "hub", "configured": true}]}"#
    #expect(Self.finding(Self.answer(names)) == .good)
  }

  @Test("what would refuse envelopes is a fault")
  func fault() {
    for text in [
      #"{"upstreams": []}"#, #"{"upstreams": [{"name": "hub", "configured": false}]}"#,
    ] {
      #expect(
        Self.finding(Self.answer(text)) == .fault(#"it has no upstream "hub" (batch.upstream)"#))
    }
    for status in [401, 403] {
      #expect(
        Self.finding(Self.answer("", status: status))
          == .fault("the token is of one client, and posts for no other"))
    }
    let other = RelayTrial.finding(Self.answer("hello"), names: nil, upstream: "hub")
    #expect(other == .fault("it does not take envelopes as a relay does"))
  }

  @Test("an upstream that cannot be seen is said to be unseen, and not to be there")
  func unseen() {
    let names = #"{"upstreams": [{"name": "hub", "configured": true}]}"#
    for answer in [
      nil, Self.answer("", status: 404), Self.answer("", status: 502), Self.answer("<html>"),
      Self.answer("{}"), Self.answer(names, isTruncated: true),
    ] {
      guard case .unseen(let reason) = Self.finding(answer) else {
        Issue.record("\(answer.debugDescription)")
        continue
      }
      #expect(reason.hasPrefix(#"whether it has an upstream "hub" (batch.upstream) could not be"#))
    }
  }
}
