import Foundation
import Glibc
import Testing

/// What a device owes and is owed: it posts envelopes one after the other, each until it is
/// acknowledged, over whatever relay process answers at the time.
private final class Producer: Sendable {
  let name: String
  let bodies: [[UInt8]]
  private let device: Device
  private let relay: Relay
  private let acknowledged: Monitor<Int>

  init(
    _ number: Int, count: Int, relay: Relay, acknowledged: Monitor<Int>,
    generator: inout SeededGenerator
  ) {
    name = "device-\(number)"
    bodies = (0..<count).map { _ in
      generator.bytes(
        generator.happens(0.05) ? 300_000 : Int.random(in: 0...2000, using: &generator))
    }
    self.relay = relay
    device = relay.device(name)
    self.acknowledged = acknowledged
  }

  /// Posts everything; every envelope's id, in order.
  func run() async throws -> [String] {
    var ids: [String] = []
    while ids.count < bodies.count {
      do {
        let taken = try await post(from: ids.count)
        ids += taken
        acknowledged.change { $0 += taken.count }
      } catch is SocketError {
        _ = try await relay.isUp()
      } catch is ConnectionEnded {
        _ = try await relay.isUp()
      }
    }
    return ids
  }

  /// Posts the next one, two or three in one of the three ways; those that were taken.
  private func post(from index: Int) async throws -> [String] {
    switch index % 3 {
    case 0:
      let answer = try await device.post(envelope(index))
      try expectTaken(answer)
      return [try #require(answer.json()["id"] as? String)]
    case 1:
      let answer = try await device.relay(
        "POST", "/\(name)/\(index)", headers: ["Idempotency-Key": "key-\(index)"],
        body: bodies[index])
      try expectTaken(answer)
      return [try #require(answer.json()["id"] as? String)]
    default:
      let range = index..<min(index + 3, bodies.count)
      let answer = try await device.post(
        batch: range.map(envelope), headers: ["Prefer": "handling=strict"])
      try expectTaken(answer)
      let results = try #require(answer.json()["results"] as? [[String: Any]])
      return results.compactMap { $0["id"] as? String }
    }
  }

  private func envelope(_ index: Int) -> [String: any Sendable] {
    [
      "key": "key-\(index)", "path": "/\(name)/\(index)",
      "bodyBase64": Data(bodies[index]).base64EncodedString(),
    ]
  }

  private func expectTaken(_ answer: WireResponse) throws {
    guard answer.status == 202 else {
      throw ProtocolViolation(description: "an envelope was not taken: \(answer)")
    }
  }
}

extension EndToEnd {
  @Suite("An oracle", .serialized)
  struct Oracle {
    static let producers = 8
    static let envelopesEach = 36
    static let kills = 6

    /// `WAYSTATION_TEST_SEED` repeats a run.
    static let seed =
      ProcessInfo.processInfo.environment["WAYSTATION_TEST_SEED"].flatMap { UInt64($0) } ?? 20260301

    @Test("whatever was acknowledged arrives, in order and byte for byte, over kills and faults")
    func oracle() async throws {
      var generator = SeededGenerator(seed: Self.seed)
      let isFaulty = Monitor(true)
      let upstream = try faultyUpstream(isFaulty, seed: generator.next())
      let relay = try Relay(upstreams: ["default": quick(upstream)])
      try await relay.start()
      let acknowledged = Monitor(0)
      let producers = (0..<Self.producers).map {
        Producer(
          $0, count: Self.envelopesEach, relay: relay, acknowledged: acknowledged,
          generator: &generator)
      }
      let total = Self.producers * Self.envelopesEach
      async let posted = Self.post(producers)
      try await killAtRandom(relay, acknowledged, total: total, generator: &generator)
      let ids = try await posted
      isFaulty.change { $0 = false }

      let received = try await upstream.received("every envelope, seed \(Self.seed)", seconds: 60) {
        Set($0.map(\.target)).count >= total
      }
      for producer in producers { check(producer, received) }
      for (producer, ids) in zip(producers, ids) {
        #expect(Set(ids).count == Self.envelopesEach)
        try await allDelivered(producer.name, ids, relay)
      }
      // And a fresh one passes, too.
      let fresh = try await relay.device("fresh").relay(
        "POST", "/fresh", headers: ["Prefer": "wait=20"])
      #expect(fresh.status == 200)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
    }

    /// Answers at random with a cut connection, 503, or slowly, as long as there are faults.
    private func faultyUpstream(_ isFaulty: Monitor<Bool>, seed: UInt64) throws -> TestUpstream {
      let generator = Monitor(SeededGenerator(seed: seed))
      return try TestUpstream { _ in
        guard isFaulty.read({ $0 }) else { return .answer(200) }
        return generator.change { generator in
          switch Double.random(in: 0..<1, using: &generator) {
          case ..<0.1: .cut
          case ..<0.2: .answer(503)
          case ..<0.4: .answer(200, delayMs: Int.random(in: 1...40, using: &generator))
          default: .answer(200)
          }
        }
      }
    }

    private func quick(_ upstream: TestUpstream) -> [String: any Sendable] {
      let reachability: [String: any Sendable] = ["firstProbeDelayMs": 10, "maxProbeDelayMs": 100]
      return Relay.quick(upstream, ["reachability": reachability])
    }

    private static func post(_ producers: [Producer]) async throws -> [[String]] {
      try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
        for (number, producer) in producers.enumerated() {
          group.addTask { (number, try await producer.run()) }
        }
        var ids = [[String]](repeating: [], count: producers.count)
        for try await (number, taken) in group { ids[number] = taken }
        return ids
      }
    }

    /// Kills the relay each time a random share of the envelopes has been acknowledged.
    private func killAtRandom(
      _ relay: Relay, _ acknowledged: Monitor<Int>, total: Int,
      generator: inout SeededGenerator
    ) async throws {
      let moments = (0..<Self.kills).map { _ in Int.random(in: 1..<total, using: &generator) }
      for moment in moments.sorted() {
        let _: Bool = try await acknowledged.wait("\(moment) acknowledged", seconds: 60) {
          $0 >= moment ? true : nil
        }
        try await relay.kill()
        try await relay.start()
      }
    }

    /// What of a producer arrived: all of it, in order, unchanged, and each repeat recognisable.
    private func check(_ producer: Producer, _ received: [WireRequest]) {
      let own = received.filter { $0.target.hasPrefix("/\(producer.name)/") }
      var firsts: [String] = []
      var keys: [String: String] = [:]
      for request in own {
        let key = request["Idempotency-Key"] ?? ""
        if keys[request.target] == nil {
          firsts.append(request.target)
          keys[request.target] = key
        }
        #expect(keys[request.target] == key, "\(request.target) came under two keys")
        let index = request.target.split(separator: "/").last.flatMap { Int($0) } ?? 0
        #expect(request.body == producer.bodies[index], "\(request.target) was changed")
      }
      let expected = producer.bodies.indices.map { "/\(producer.name)/\($0)" }
      #expect(firsts == expected, "the order of \(producer.name), seed \(Self.seed)")
      #expect(Set(keys.values).count == producer.bodies.count)
    }

    private func allDelivered(_ client: String, _ ids: [String], _ relay: Relay) async throws {
      let device = relay.device(client)
      for id in ids {
        let envelope = try await device.end(of: id)
        #expect(envelope["state"] as? String == "delivered", "\(id) of \(client)")
      }
      let view = try await device.get("/v1/clients/\(client)").json()
      #expect(view["waiting"] as? Int == 0)
      #expect((view["states"] as? [String: Int])?["delivered"] == ids.count)
    }
  }
}
