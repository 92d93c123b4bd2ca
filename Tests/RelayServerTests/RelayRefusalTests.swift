import Forwarder
import HTTPServer
import RelayCore
import Testing

@testable import RelayServer

@Suite("What another relay says of this relay's token")
struct RelayRefusalTests {
  private static func answer(
    _ body: [UInt8], status: Int, isTruncated: Bool = false
  ) -> UpstreamResponse {
    UpstreamResponse(status: status, headers: HeaderBlock(), body: body, isTruncated: isTruncated)
  }

  /// The answer that a relay of this release gives.
  private static func answer(_ problem: Problem) -> UpstreamResponse {
    answer(document(problem), status: problem.status)
  }

  private static func document(_ problem: Problem) -> [UInt8] {
    if case .bytes(let bytes) = problem.response.body { bytes } else { [] }
  }

  @Test("that it is none, or not any more, or not for such calls, is about the token")
  func ofToken() {
    for problem in [Problem.unauthenticated(), .badCredentials(), .forbidden()] {
      guard case .ofToken(let words) = RelayRefusal(Self.answer(problem)) else {
        Issue.record("\(problem.kind) is not known")
        continue
      }
      #expect(words == problem.detail)
    }
  }

  @Test("that it is another client's is about that client alone")
  func ofClient() {
    let problem = Problem.otherClient("till-1", field: "client")
    #expect(RelayRefusal(Self.answer(problem)) == .ofClient)
  }

  @Test("that it has no upstream of the name is about all that goes there")
  func ofUpstream() {
    #expect(RelayRefusal(Self.answer(.unknownUpstream("x", field: nil))) == .ofUpstream)
    #expect(RelayRefusal(Self.answer(.unknownUpstream("x", field: "upstream"))) == .ofUpstream)
  }

  @Test("other problems, other statuses, and what is no problem document are not")
  func others() {
    for problem in [
      Problem.crossSite("https://evil.example"), .unknownHost("a"), .doubleCredentials("A"),
      .notFound(),
    ] {
      #expect(RelayRefusal(Self.answer(problem)) == nil)
    }
    let document = Self.document(.unauthenticated())
    #expect(RelayRefusal(Self.answer(document, status: 403)) == nil)
    #expect(RelayRefusal(Self.answer(Array(document.dropLast()), status: 401)) == nil)
    for text in ["", "no", "[]", #"{"type": 1}"#, #"{"title": "Unauthorized"}"#] {
      #expect(RelayRefusal(Self.answer(Array(text.utf8), status: 401)) == nil)
    }
  }

  @Test("the words are one line of visible ASCII")
  func words() {
    let text = #"{"type": "urn:waystation:problem:unauthenticated", "detail": "a\nb\u00e9"}"#
    #expect(
      RelayRefusal(Self.answer(Array(text.utf8), status: 401)) == .ofToken(words: "a?b??"))
  }

  private static func report(_ event: AttemptEvent) -> AttemptReport {
    AttemptReport(
      serial: 1, event: event, startedAt: WallTime(millisecondsSinceEpoch: 0), durationMs: 1,
      isWritten: true)
  }

  private static func target(bodyBytesMax: Int = 65_536) throws -> UpstreamTarget {
    try UpstreamTarget(
      name: "hub", url: UpstreamURL("https://hub.example"), responseBodyBytesMax: bodyBytesMax)
  }

  @Test("a refused token is as if no answer had come, and nothing is in doubt")
  func report() throws {
    var report = Self.report(.answered(Self.answer(.badCredentials())))
    report.read(fromRelay: try Self.target(), showsToken: true)
    guard case .failed(.credentials, let detail) = report.event else {
      Issue.record("\(report.event)")
      return
    }
    #expect(detail.hasPrefix("hub.example refused the relay's token: it answered 401 (The "))
    #expect(!report.isInDoubt && !report.isUnclear)
  }

  @Test(
    "one client's refusal, and one of a credential that may be a sender's, hold up its lane alone")
  func unclear() throws {
    for (problem, showsToken) in [
      (Problem.otherClient("a", field: "client"), true), (.badCredentials(), false),
    ] {
      var report = Self.report(.answered(Self.answer(problem)))
      report.read(fromRelay: try Self.target(), showsToken: showsToken)
      #expect(report.status == problem.status && report.isUnclear)
      #expect(OutcomeRules.standard.outcome(of: report) == .unreachable)
    }
  }

  @Test("of what is reported as it came, no more is kept than of any answer")
  func kept() throws {
    var report = Self.report(.answered(Self.answer(Array("0123456789".utf8), status: 202)))
    report.read(fromRelay: try Self.target(bodyBytesMax: 4), showsToken: true)
    guard case .answered(let response) = report.event else {
      Issue.record("\(report.event)")
      return
    }
    #expect(response.body == Array("0123".utf8) && response.isTruncated && !report.isUnclear)
  }

  @Test(
    "an answer for a whole post says nothing of its envelopes, unless it is 413 or a relay's 422")
  func ofRequest() {
    for status in [301, 400, 404, 405, 421, 422, 500] {
      #expect(RelayRefusal.isOfRequest(Self.answer([], status: status)))
    }
    for status in [200, 202, 207, 413] {
      #expect(!RelayRefusal.isOfRequest(Self.answer([], status: status)))
    }
    #expect(!RelayRefusal.isOfRequest(Self.answer(.invalidField("path", "is none"))))
  }
}
