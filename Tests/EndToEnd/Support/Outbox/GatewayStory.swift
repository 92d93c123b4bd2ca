import Foundation
import Glibc
import WaystationOutbox

/// Four gateways, one with each custody and one with evidence, with a relay and its upstream,
/// through faults that a seed decides.
struct GatewayStory {
  private static let variables = ProcessInfo.processInfo.environment
  /// `WAYSTATION_TEST_SEED` repeats a run.
  static let wantedSeed = variables["WAYSTATION_TEST_SEED"].flatMap { UInt64($0) }
  /// `WAYSTATION_GATEWAY_SEEDS` says how many stories there are.
  static let seedCount =
    variables["WAYSTATION_GATEWAY_SEEDS"].flatMap { UInt64($0) } ?? 1

  /// The seeds of a run.
  static func seeds(from usual: UInt64) -> [UInt64] {
    let first = wantedSeed ?? usual
    return (0..<seedCount).map { first &+ $0 }
  }

  let seed: UInt64
  /// Whether the relay comes back from an old backup.
  let restores: Bool
  private let memory: KeyMemory
  private let relay: Relay
  private let gateways: [TestGateway]
  private let acknowledged = Monitor(0)
  private let folder: TemporaryFolder
  private var generator: SeededGenerator
  /// What has happened, each with the requests that had come by then.
  private var course: [String] = []
  /// What each gateway had when the relay was put back, by the gateways' numbers.
  private var before: [Int: OutboxCopy] = [:]

  init(seed: UInt64, restores: Bool) throws {
    self.seed = seed
    self.restores = restores
    generator = SeededGenerator(seed: seed)
    folder = try TemporaryFolder()
    let memory = try KeyMemory(seed: generator.next())
    let reachability: [String: any Sendable] = ["firstProbeDelayMs": 10, "maxProbeDelayMs": 100]
    let relay = try Relay(
      upstreams: ["default": Relay.quick(memory.upstream, ["reachability": reachability])],
      more: [
        "receipts": ["issuer": "https://relay.example"], "lanes": ["sales": ["evidence": true]],
      ])
    (self.memory, self.relay) = (memory, relay)
    gateways =
      try [Custody.accepted, .receipt, .delivered].enumerated().map { number, custody in
        try TestGateway(number + 1, custody, to: relay.port)
      } + [TestGateway(4, .accepted, keepsEvidence: true, to: relay.port)]
  }

  /// Goes through everything, and looks what is owed.
  ///
  /// - Returns: What does not hold.
  mutating func run() async throws -> [String] {
    do {
      try await relay.start()
      try await live()
      try await settled()
    } catch {
      print("seed \(seed), \(course)\n\(relay.log.suffix(4000))")
      for gateway in gateways { print("\(gateway.client): \(gateway.errors.suffix(2000))") }
      throw error
    }
    print("gateway oracle, seed \(seed): \(figures)")
    let found = try await violations()
    return found.isEmpty ? [] : ["WAYSTATION_TEST_SEED=\(seed)"] + found.prefix(20) + course
  }

  // MARK: - What happens

  private mutating func live() async throws {
    let isOver = Monitor(false)
    let (memory, relay, gateways, acknowledged) = (memory, relay, gateways, acknowledged)
    let seeds = gateways.map { _ in generator.next() }
    let work = Task {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (gateway, seed) in zip(gateways, seeds) {
          group.addTask {
            try await gateway.run(acknowledged: acknowledged, until: isOver, seed: seed)
          }
        }
        try await group.waitForAll()
      }
    }
    var faults = GatewayFaults(
      relay: relay, memory: memory, gateways: gateways, acknowledged: acknowledged,
      seed: generator.next())
    defer {
      work.cancel()
      course = faults.course
    }
    try await faults.progress()
    let rounds = rounds()
    for (number, round) in rounds.enumerated() {
      if restores, number == rounds.count / 3 {
        faults.note("backup")
        try await backUp()
      }
      try await faults.bring(round)
      if restores, number == rounds.count * 2 / 3 { try await restore(&faults) }
    }
    isOver.change { $0 = true }
    try await work.value
  }

  /// All faults in an order that the seed decides, some of them two at a time.
  private mutating func rounds() -> [ArraySlice<GatewayFault>] {
    var rest = (GatewayFault.allCases + GatewayFault.allCases).shuffled(using: &generator)[...]
    var rounds: [ArraySlice<GatewayFault>] = []
    while !rest.isEmpty {
      let parts = Set(rest.prefix(2).map(\.part))
      let count = parts.count == 2 && generator.happens(0.6) ? 2 : 1
      rounds.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    return rounds
  }

  private var copy: String { folder.path + "/backup" }

  private func backUp() async throws {
    let backup = try await Waystation.run(
      "store", "backup", "--data", relay.data, "--to", copy)
    guard backup.ending == .exit(0) else {
      throw ProtocolViolation(description: "no backup: \(backup.errors)")
    }
  }

  /// Puts the relay back to the backup, once it has signed for more than that holds.
  private mutating func restore(_ faults: inout GatewayFaults) async throws {
    let signed = gateways.map(\.signedFor)
    try await eventually("more receipts than at the backup", seconds: 60) {
      zip(gateways, signed).allSatisfy { !$0.hasReceipts || $0.signedFor > $1 } ? true : nil
    }
    faults.note("restored")
    try await relay.kill()
    // What the answers on their way say is not known before the gateways are down.
    for gateway in gateways {
      try await gateway.goDown()
      before[gateway.number] = try gateway.outbox()
    }
    let (data, files) = (relay.data, FileManager.default)
    try files.moveItem(atPath: data, toPath: data + ".old")
    try files.copyItem(atPath: copy, toPath: data)
    try files.copyItem(atPath: data + ".old/receipt-keys", toPath: data + "/receipt-keys")
    try await memory.interrupted()
    for gateway in gateways { gateway.comeUp() }
    // They come up before the relay, or after it.
    try await faults.progress()
    try await relay.start()
    try await faults.progress()
  }

  /// Waits until the relay has nothing left.
  private func settled() async throws {
    for gateway in gateways {
      let device = relay.device(gateway.client)
      try await eventually("the end of what \(gateway.client) has posted", seconds: 60) {
        let view = try await device.get("/v1/clients/\(gateway.client)")
        return try view.json()["waiting"] as? Int == 0 ? true : nil
      }
    }
  }

  // MARK: - What is owed

  /// What does not hold.
  private func violations() async throws -> [String] {
    var found = memory.violations
    let answered = memory.answered
    for gateway in gateways {
      found += gateway.violations + words(of: gateway)
      let kept = gateway.kept
      if kept.isEmpty { found.append("\(gateway.client) has acknowledged nothing") }
      let outcomes = try await gateway.outcomes(of: Array(kept.keys))
      for (id, number) in kept.sorted(by: { $0.key < $1.key }) {
        let line = GatewayLine(gateway: gateway.number, number: number)
        let isThere = answered.contains(line)
        switch outcomes[id] {
        case .delivered where isThere: continue
        case .unknown where mayBeLost(id, gateway): continue
        case let outcome:
          found.append(
            "\(line), item \(id), \(isThere ? "came" : "never came"): "
              + "\(outcome.map { "\($0)" } ?? "no end is known"), custody \(gateway.custody)")
        }
      }
    }
    return found
  }

  /// Whether a restored relay may have lost an item for good: only what the gateway has let go of,
  /// for an acceptance or for a receipt.
  private func mayBeLost(_ id: Int64, _ gateway: TestGateway) -> Bool {
    guard gateway.custody != .delivered, !gateway.keepsEvidence, let outbox = before[gateway.number]
    else { return false }
    return id < outbox.next && !outbox.held.contains(id)
  }

  /// What a gateway has said that it may not, or has not said.
  private func words(of gateway: TestGateway) -> [String] {
    let errors = gateway.errors
    var found: [String] = []
    for words in ["damaged: ", "goes on in ", "stands at ", " refused: "]
    where errors.contains(words) {
      found.append("\(gateway.client) says \"\(words)\": \(errors.suffix(1000))")
    }
    let doubts = errors.split(separator: "\n").filter { $0.hasPrefix("no proof for ") }
    let isBehind = doubts.contains { $0.contains("relayBehind") }
    if gateway.hasReceipts, gateway.signedFor == 0 {
      found.append("\(gateway.client) has no receipt")
    }
    if !restores, !doubts.isEmpty { found.append("\(gateway.client) doubts the relay: \(doubts)") }
    if restores, gateway.hasReceipts, !isBehind {
      found.append("\(gateway.client) has not noticed that the relay is behind: \(doubts)")
    }
    return found
  }

  private var figures: String {
    let starts = gateways.map(\.starts).reduce(0, +)
    let lost = gateways.map { gateway in
      gateway.errors.split(separator: "\n").filter { $0.contains(": unknown") }.count
    }
    let kept = gateways.map(\.kept.count).reduce(0, +)
    return "\(kept) lines acknowledged, \(memory.answered.count) came in "
      + "\(memory.arrivalCount) requests, \(starts) starts of gateways"
      + (restores ? "; told to be lost with a restored relay: \(lost.reduce(0, +))" : "")
  }
}
