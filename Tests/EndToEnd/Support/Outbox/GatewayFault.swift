import Foundation
import Glibc

/// What happens to gateways, their relay and its upstream.
enum GatewayFault: CaseIterable {
  /// A gateway's network is away.
  case cutLink
  /// A gateway's network passes nothing on for a while.
  case stallLink
  /// A gateway's network loses the relay's answers.
  case loseAnswers
  /// A gateway's network passes a few bytes on at a time.
  case slowLink
  /// Nothing listens where the upstream was.
  case stopUpstream
  /// The upstream answers 503 or cuts off, most of the time.
  case failUpstream
  /// There is no room on a gateway's disk.
  case fullDisk
  /// A gateway's disk says that it is full in the middle of what it does.
  case breakRoom
  /// A gateway's disk writes only half of what it is to write.
  case halveWrites
  /// A gateway's disk can be neither read nor written.
  case breakDisk
  /// The relay is killed, and comes back at once or later.
  case killRelay
  /// A gateway is killed, and comes back at once or later.
  case killGateway

  /// What it is wrong with.
  enum Part: Int {
    case link, upstream, disk, relay, gateway
  }

  /// What it is wrong with: only one thing at a time can be.
  var part: Part {
    switch self {
    case .cutLink, .stallLink, .loseAnswers, .slowLink: .link
    case .stopUpstream, .failUpstream: .upstream
    case .fullDisk, .breakRoom, .halveWrites, .breakDisk: .disk
    case .killRelay: .relay
    case .killGateway: .gateway
    }
  }
}

/// Brings faults about among gateways, and mends them.
struct GatewayFaults: Sendable {
  let relay: Relay
  let memory: KeyMemory
  let gateways: [TestGateway]
  /// How many lines were acknowledged so far.
  let acknowledged: Monitor<Int>
  private var generator: SeededGenerator
  /// Whether the relay was killed, and has yet to come back.
  private var isRelayAway = false
  /// What has happened.
  private(set) var course: [String] = []

  init(
    relay: Relay, memory: KeyMemory, gateways: [TestGateway], acknowledged: Monitor<Int>,
    seed: UInt64
  ) {
    (self.relay, self.memory, self.gateways) = (relay, memory, gateways)
    self.acknowledged = acknowledged
    generator = SeededGenerator(seed: seed)
  }

  /// One round with a fault, or two at a time.
  mutating func bring(_ faults: ArraySlice<GatewayFault>) async throws {
    // Who is dead notices nothing of the other fault, so kills come last.
    let chosen = faults.sorted { $0.part.rawValue < $1.part.rawValue }
      .map { ($0, gateways.randomElement(using: &generator) ?? gateways[0]) }
    for (fault, gateway) in chosen {
      note("\(fault) \(gateway.number)")
      try await begin(fault, gateway)
    }
    try await progress()
    for (fault, gateway) in chosen.reversed() { try await end(fault, gateway) }
    note("mended")
    try await progress()
  }

  /// Notes what happens, and how many requests have come to the upstream by then.
  mutating func note(_ words: String) {
    course.append("\(memory.arrivalCount): \(words)")
  }

  /// Begins a fault, and waits until the gateway has met it.
  private mutating func begin(_ fault: GatewayFault, _ gateway: TestGateway) async throws {
    switch fault {
    case .cutLink:
      try await gateway.says("unreachable: ") { gateway.link.stop() }
    case .stallLink: gateway.link.become(.stalled)
    case .loseAnswers:
      let before = gateway.link.lostCount
      gateway.link.become(.losingAnswers)
      try await eventually("answer that is lost to \(gateway.client)") {
        gateway.link.lostCount > before ? true : nil
      }
    case .slowLink: gateway.link.become(.slow)
    case .stopUpstream: memory.goAway()
    case .failUpstream: memory.fail(0.7)
    case .fullDisk:
      try await gateway.says("cannot keep a line: full") { gateway.disk.pretend(freeBytes: 0) }
    case .breakRoom: try await gateway.failDisk(.changes, with: ENOSPC)
    case .halveWrites: try await gateway.failDisk(.write, with: 0)
    case .breakDisk: try await gateway.failDisk([.changes, .read], with: EIO)
    case .killRelay: try await killRelay()
    case .killGateway:
      try await gateway.goDown()
      _ = try gateway.outbox()
      if generator.happens(0.6) { gateway.comeUp() }
    }
  }

  private mutating func killRelay() async throws {
    relay.signal(SIGKILL)
    guard try await relay.ending() == .signal(SIGKILL) else {
      throw ProtocolViolation(description: "the relay had ended by itself")
    }
    try await memory.interrupted()
    isRelayAway = generator.happens(0.4)
    if !isRelayAway { try await relay.start() }
  }

  private mutating func end(_ fault: GatewayFault, _ gateway: TestGateway) async throws {
    switch fault {
    case .killGateway: gateway.comeUp()
    case .killRelay:
      if isRelayAway { try await relay.start() }
      isRelayAway = false
    case .cutLink: try gateway.link.start()
    case .stallLink, .loseAnswers, .slowLink: gateway.link.become(.good)
    case .stopUpstream: try await memory.comeBack()
    case .failUpstream: memory.fail(0)
    case .fullDisk, .breakRoom, .halveWrites, .breakDisk: gateway.healDisk()
    }
  }

  /// Waits until some more lines are acknowledged.
  ///
  /// That needs neither the relay nor a network, and there is always a gateway whose disk is whole.
  mutating func progress() async throws {
    let goal = acknowledged.read { $0 } + Int.random(in: 10...50, using: &generator)
    let _: Bool = try await acknowledged.wait("\(goal) acknowledged lines", seconds: 60) {
      $0 >= goal ? true : nil
    }
  }
}
