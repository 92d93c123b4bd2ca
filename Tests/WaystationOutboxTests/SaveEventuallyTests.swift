import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("saveEventually, as Parse has it", .timeLimit(.minutes(5)))
struct SaveEventuallyTests {
  @Test("who wakes the outbox learns what has ended meanwhile")
  func wakes() async throws {
    let stand = try await Stand { $0.sending.checkInEvery = nil }
    stand.relay.isUpstreamAway = true
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    while await stand.outbox.item(id)?.isAtRelay != true { await Task.yield() }
    stand.relay.isUpstreamAway = false
    let events = stand.outbox.events()
    await stand.outbox.wake()
    let ended = await events.first {
      if case .ended(id, let outcome) = $0 { outcome.word } else { nil }
    }
    #expect(ended == "delivered")
    await stand.outbox.close()
  }

  @Test("the relay's name of an item is told also where its end comes with the same answer")
  func relayName() async throws {
    let stand = try await Stand()
    let events = stand.outbox.events()
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    let name = await events.first { event -> String? in
      if case .accepted(id, let relay) = event { relay } else { nil }
    }
    #expect(name?.isEmpty == false)
    await stand.outbox.close()
  }

  @Test("answers with the upstream's answer if there is a connection")
  func online() async throws {
    let stand = try await Stand()
    stand.relay.take("/friends/7", status: 201, body: "welcome")
    let outcome = try await stand.outbox.saveEventually(
      Request("POST", "/friends/7", .json("{}")), within: .seconds(30))
    guard case .delivered(let response?) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(response.status == 201)
    #expect(String(decoding: response.body, as: UTF8.self) == "welcome")
    await stand.outbox.close()
  }

  @Test("answers at once if there is none, and sends it by itself later")
  func offline() async throws {
    let stand = try await Stand()
    stand.relay.cut("no bars")
    let outcome = try await stand.outbox.saveEventually(
      Request("POST", "/a"), within: .seconds(3600))
    guard case .connection(let failure) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(failure.reason == "no bars")
    let item = try #require(await stand.outbox.items().first)
    stand.relay.mend()
    #expect(try await stand.ending(of: item.id).word == "delivered")
    #expect(stand.paths == ["/a"])
    await stand.outbox.close()
  }

  @Test("keeps what was saved through the end of the app")
  func killed() async throws {
    let stand = try await Stand()
    stand.relay.cut()
    for number in 1...3 { try await stand.outbox.enqueue(Request("POST", "/\(number)")) }
    let next = try await stand.reopened()
    let waiting = await next.outbox.items()
    stand.relay.mend()
    for item in waiting { _ = try await next.ending(of: item.id) }
    #expect(next.paths == ["/1", "/2", "/3"])
    await next.outbox.close()
  }

  @Test("tells a refusal from a missing connection")
  func refused() async throws {
    let stand = try await Stand { $0.lanes[.default] = .skipping }
    stand.relay.refuse("/bad", status: 422)
    let outcome = try await stand.outbox.saveEventually(
      Request("POST", "/bad"), within: .seconds(30))
    #expect(outcome.word == "refused")
    await stand.outbox.close()
  }

  @Test("an answer that was lost leads to a repeat under the same key, and to one delivery")
  func lostAnswer() async throws {
    let stand = try await Stand()
    stand.relay.loseAnswers()
    let id = try await stand.outbox.enqueue(Request("POST", "/once"))
    let failure = await stand.outbox.events().first { event -> ConnectionFailure? in
      if case .unreachable(let failure) = event { failure } else { nil }
    }
    #expect(failure?.mayHaveArrived == true)
    stand.relay.mend()
    #expect(try await stand.ending(of: id).word == "delivered")
    #expect(stand.paths == ["/once"])
    await stand.outbox.close()
  }
}

extension LaneSettings {
  /// A lane that goes on behind what was refused.
  static var skipping: LaneSettings {
    var settings = LaneSettings()
    settings.onRefusal = .skip
    return settings
  }
}
