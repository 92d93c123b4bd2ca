import RelayCore
import Testing

@Suite("What is told of a need, and what can be done")
struct NeedActTests {
  private static let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)

  private func needs(_ change: (inout NeedFacts) -> Void) -> [Need] {
    var facts = NeedFacts(now: Self.now)
    change(&facts)
    var book = NeedBook()
    _ = book.update(facts)
    return book.needs
  }

  private func needsOfOne(_ change: (inout NeedFacts.Upstream) -> Void) -> [Need] {
    needs { facts in
      var upstream = NeedFacts.Upstream(name: "billing")
      change(&upstream)
      facts.upstreams = [upstream]
    }
  }

  @Test("answers whose results are not known are a warning for as long as they are marked")
  func unknownResults() throws {
    let need = try #require(needsOfOne { $0.hasUnknownResults = true }.first)
    #expect(need.key == Need.Key(.resultsUnknown, upstream: "billing"))
    #expect(need.severity == .warning && need.cause?.contains("batch.results") == true)
    #expect(
      needsOfOne { upstream in
        upstream.hasUnknownResults = true
        upstream.isConfigured = false
      }.isEmpty)
  }

  @Test("a certificate's need names the upstream that is shown it, and what can be done")
  func certificates() throws {
    let needs = needs { facts in
      facts.configurationPath = "/c.json"
      facts.certificateProblems = [
        NeedFacts.CertificateProblem("/a.pem: it has expired", upstream: "billing"),
        NeedFacts.CertificateProblem("/b.pem: it has expired"),
      ]
      facts.certificates = [
        NeedFacts.Certificate(
          what: "/d.pem: the certificate of relay for api",
          endsAt: Self.now.adding(milliseconds: 86_400_000), upstream: "api")
      ]
    }
    let check = NeedAct.checkConfiguration(path: "/c.json")
    #expect(needs.map(\.key.upstream) == ["billing", nil, "api"])
    #expect(
      needs.map(\.acts) == [
        [check, .tryCredentials(upstream: "billing")], [check],
        [check, .tryCredentials(upstream: "api")],
      ])
    #expect(needs[0].title == "what billing is shown cannot be used: /a.pem: it has expired")
    #expect(needs[1].title == "/b.pem: it has expired")
    #expect(needs[2].cause?.contains("SIGHUP") == true)
  }

  @Test("what ends soon at the upstream that is told of needs is told there, too")
  func told() throws {
    let needs = needs { facts in
      facts.certificates = [
        NeedFacts.Certificate(
          what: "/d.pem", endsAt: Self.now.adding(milliseconds: 86_400_000), upstream: "alarm")
      ]
    }
    var news = NeedNews()
    let receiver = NeedNews.Receiver(upstream: "alarm", path: "/")
    let message = news.message(needs, to: receiver, at: MonotonicTime(nanoseconds: 0))
    #expect(message?.needs.count == 1)
  }

  @Test("dead letters can be put back in line, or given up")
  func deadLetters() throws {
    let letter = NeedFacts.Failure(
      status: 422, reason: "the upstream answered 422", left: .failed, since: Self.now,
      example: nil)
    let acts = try #require(needsOfOne { $0.deadLetters = (7, letter, false) }.first).acts
    let actions = acts.compactMap { act -> Operation.Action? in
      guard case .operate(let action, let selection) = act else { return nil }
      #expect(selection.states == [.failed] && selection.isDiscarded == false)
      return action
    }
    #expect(actions == [.requeue, .cancel])
  }

  @Test("where dead letters were is not listed once none is left", arguments: [0, 3])
  func settled(count: Int) throws {
    let needs = needsOfOne { upstream in
      upstream.outcomes.refused = 20
      upstream.deadLetterCount = count
      upstream.failure = NeedFacts.Failure(
        status: 422, reason: "the upstream answered 422", left: .failed, since: Self.now,
        example: nil)
    }
    let acts = try #require(needs.first).acts
    #expect(acts.contains(.list(upstream: "billing", [.failed])) == (count > 0))
    #expect(acts.contains(.pause(upstream: "billing")))
  }
}
