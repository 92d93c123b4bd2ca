import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("A relay that talks without end", .timeLimit(.minutes(5)))
struct StrangerTests {
  @Test("a relay that tells of strangers' ends for ever is not asked for ever more")
  func strangers() async throws {
    let clock = ManualClock()
    let strange = Strangers()
    let stand = try await Stand { settings in
      settings.clock = clock
      settings.transport = strange
    }
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    while await stand.outbox.item(id)?.isAtRelay != true { await Task.yield() }
    while strange.count <= CoreLimits.strangeAnswersMax { await Task.yield() }
    // It waits for the clock now.
    for _ in 0..<1000 { await Task.yield() }
    let count = strange.count
    #expect(count <= CoreLimits.strangeAnswersMax + 2)
    while strange.count == count {
      clock.advance(by: .milliseconds(CoreLimits.strangePauseMs))
      await Task.yield()
    }
    await stand.outbox.close()
  }
}

/// A relay that takes everything, and always has more ends of others to tell.
private final class Strangers: Transport {
  private let state = Mutex(0)

  var count: Int { state.withLock { $0 } }

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    var lines = 0
    if case .bytes(let bytes) = exchange.body { lines = bytes.count { $0 == UInt8(ascii: "\n") } }
    let number = state.withLock { count in
      count += 1
      return count
    }
    let results = (1..<max(1, lines)).map { #"{"index":\#($0 - 1),"result":"accepted","id":"i"}"# }
    let body =
      #"{"client":"device","results":[\#(results.joined(separator: ","))],"maySend":{},"lanes":[],"#
      + #""ended":[{"key":"no-\#(number)","lane":"x","state":"delivered"}],"more":true,"#
      + #""since":"\#(number)"}"#
    return Response(
      status: 200, headers: [("Content-Type", "application/json")], body: Array(body.utf8))
  }
}
