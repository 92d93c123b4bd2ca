import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.SplitMix64

/// One device, its relay and its upstream, through faults that a seed decides.
///
/// The core and the database are the real ones; time, the network, the relay and the app are not.
/// Everything happens at the times that the seed gives, so a seed that fails fails again.
final class Simulation {
  /// What the app has asked for, of an item that was acknowledged.
  struct Told {
    let key: String
    let lane: String
    let number: Int64
    /// Whether the relay or the upstream refuses it as it is.
    var isRefused = false
    /// Whether it is over for a reason that the app has given.
    var isGivenUp = false
    /// Whether its body was changed on the disk, so that it may wait for somebody.
    var isChanged = false
  }

  enum Due {
    case answer(OutgoingExchange, Fault)
    /// The disk has not taken what came of a request; it is told once more.
    case told(ExchangeNumber, Result<Response, ConnectionFailure>, fault: String?)
    case alarm
    case prepared(Item)
    case signed([SigningTask], failure: String?)
  }

  /// What the network does to one exchange.
  enum Fault: CaseIterable {
    case none, requestLost, answerLost, portal, overloaded, limited, tooLarge, signedOut, redirected
  }

  let seed: UInt64
  var random: SplitMix64
  let folder: String
  let settings: CoreSettings
  var core: OutboxCore?
  var nowMs: Int64 = 1_000_000
  var wallMs: Int64 = 1_800_000_000_000
  var bootID = 1
  var queue: [(atMs: Int64, order: Int, Due)] = []
  var order = 0
  var relay = RelayModel()
  /// The rules and the scheduler of a real relay, which decide in place of the model; nil if the
  /// model decides.
  var scheduled: ScheduledRelay?
  var backup: (model: RelayModel, scheduled: ScheduledRelay?)?
  var wasRestored = false
  var told: [Int64: Told] = [:]
  var endings: [Int64: Outcome] = [:]
  var faultPercent = 0
  var faults: [String] = []
  /// How many posts went before the answer to the one before them was written down.
  var postsAhead = 0
  let restores: Bool
  /// Whether the relay lies in its receipts now and then.
  let lies: Bool
  /// What of the receipts does not hold.
  var broken: [String] = []
  let signer = TestSigner()
  /// What was signed under each number: one statement each.
  var statements: [String: [UInt64: [UInt8]]] = [:]

  init(seed: UInt64, folder: String, isScheduled: Bool = false) throws {
    self.seed = seed
    self.folder = folder
    var random = SplitMix64(seed: seed)
    restores = random.next() % 5 == 0
    lies = random.next() % 5 == 0
    let makesReceipts = random.next() % 4 != 0
    // The scheduled relay keeps no ledgers.
    let keepsLedgers = makesReceipts && !isScheduled && random.next() % 2 == 0
    settings = Self.settings(
      &random, restores: restores, folder: folder, uploads: !isScheduled,
      evidenceLanes: keepsLedgers ? ["skip"] : [], signs: seed % 2 == 0)
    self.random = random
    if isScheduled { scheduled = ScheduledRelay(seed: seed, wallMs: wallMs) }
    relay.token = "token"
    relay.makesReceipts = makesReceipts
    relay.evidenceLanes = keepsLedgers ? ["skip"] : []
    try open()
  }

  static func settings(
    _ random: inout SplitMix64, restores: Bool, folder: String, uploads: Bool,
    evidenceLanes: Set<String>, signs: Bool
  ) -> CoreSettings {
    var lanes: [Lane: LaneSettings] = [:]
    for name in ["block", "skip", "latest", "free"] {
      var lane = LaneSettings()
      lane.onRefusal = name == "block" ? .block : .skip
      if name == "latest" { lane.order = .latest }
      if name == "free" { lane.order = .none(parallel: 2) }
      let custody = [Custody.receipt, .delivered, .receipt, .accepted]
      lane.custody = custody[Int(random.next() % (restores ? 2 : 4))]
      lane.evidence = evidenceLanes.contains(name)
      lanes[Lane(name)] = lane
    }
    var sending = Sending()
    sending.batchItems = Int(1 + random.next() % 6)
    if uploads { sending.uploadBytes = 120 }
    sending.partBytes = 50
    sending.checkInEvery = .seconds(60)
    if random.next() % 3 == 0 { sending.linger = .seconds(5) }
    return CoreSettings(
      destination: .relay(base: "http://relay", client: "device"), lanes: lanes,
      collections: [:], limits: Limits(), sending: sending,
      asksReadiness: random.next() % 3 == 0, bodies: folder, verifier: TestReceiptVerifier(),
      signer: signs ? TestSigner() : nil)
  }

  // MARK: - The device

  func open() throws {
    let file = try OutboxFile(path: "\(folder)/outbox.sqlite3", durability: .ordered)
    let source = Source(random.next())
    core = try OutboxCore(
      file, settings, bootID: "boot-\(bootID)", incarnation: "device",
      random: { source.next() })
    guard chance(70) else { return try transact { _ in } }
    core?.early = { [unowned self] effects in
      postsAhead += 1
      for effect in effects { carryOut(effect) }
    }
    try transact { _ in }
  }

  /// Random numbers for one life of the device.
  final class Source {
    var random: SplitMix64
    init(_ seed: UInt64) { random = SplitMix64(seed: seed) }
    func next() -> UInt64 { random.next() }
  }

  var moment: Moment {
    Moment(wallMs: wallMs, monotonicMs: nowMs, boot: core?.state.boot ?? 1)
  }

  /// The process ends between two transactions, or within one.
  func crash() throws {
    faults.append("crash at \(nowMs)")
    if let core, chance(30) {
      try core.begin()
      _ = try core.enqueue([newItem()], at: moment)
      core.rollBack()
    }
    core = nil
    queue.removeAll { entry in
      if case .answer(let exchange, _) = entry.2, Self.bytes(of: exchange.body) != nil {
        // What was on its way may still arrive, without anybody to hear the answer.
        if chance(50) { _ = answer(exchange) }
      }
      return true
    }
    if chance(20) {
      bootID += 1
      nowMs = 1000
      wallMs += Int64(random.next() % 100_000)
    }
    try open()
  }

  func transact(_ work: (OutboxCore) throws -> Void) throws {
    guard let core else { return }
    try core.begin()
    try work(core)
    try core.pump(at: moment)
    for effect in try core.commit() { carryOut(effect) }
    try checkBodies()
  }

  func carryOut(_ effect: Effect) {
    switch effect {
    case .send(let exchange): schedule(.answer(exchange, fault()), afterMs: 1 + below(2000))
    case .prepare(let item, _): schedule(.prepared(item), afterMs: below(500))
    case .sign(let tasks): sign(tasks)
    case .askCredentials: schedule(.alarm, afterMs: 1000)
    case .alarm(let atMs):
      queue.removeAll { if case .alarm = $0.2, $0.atMs > atMs { true } else { false } }
      let isSet = queue.contains { if case .alarm = $0.2 { true } else { false } }
      if !isSet { schedule(.alarm, afterMs: max(0, atMs - nowMs)) }
    case .tell(.ended(let id, let outcome)): endings[id.raw] = outcome
    case .tell(.receipt(let receipt)): check(receipt)
    case .tell(.custodyBroken(let lane, let fault)): check(fault, of: lane)
    case .tell, .removeFile, .finishRun: break
    }
  }

  func schedule(_ due: Due, afterMs: Int64) {
    order += 1
    queue.append((nowMs + afterMs, order, due))
  }

  // MARK: - Time

  /// Lives through the faults, then through calm until everything is over.
  func run() throws {
    for _ in 0..<Int(20 + below(60)) {
      faultPercent = Int(below(60))
      try act()
      for _ in 0..<Int(below(8)) { try step() }
    }
    faultPercent = 0
    relay.roomMax = nil
    relay.verdict = .take(status: 200, body: "done")
    relay.verdicts = ["/refused": .refuse(status: 422, body: "no")]
    scheduled?.endFaults()
    try settle()
  }

  func step() throws {
    guard
      let next = queue.enumerated().min(by: { ($0.1.atMs, $0.1.order) < ($1.1.atMs, $1.1.order) })
    else { return }
    queue.remove(at: next.offset)
    let passed = max(0, next.element.atMs - nowMs)
    nowMs += passed
    wallMs += passed
    relay.wallMs += passed
    scheduled?.pass(milliseconds: passed, &relay)
    switch next.element.2 {
    case .alarm:
      try transact { core in
        if core.state.sender.isSignedOut, chance(50) { core.state.sender.signIn() }
      }
      if core?.state.sender.isSignedOut == true { schedule(.alarm, afterMs: 1000) }
    case .prepared(let item):
      try transact { core in
        let said: Prepared = chance(20) ? .notReady(afterMs: 1000) : .ready
        try core.take(said, of: item.id, at: moment)
      }
    case .signed(let tasks, let failure):
      try transact { core in
        try core.takeSignatures(
          tasks.map { ($0, signer.signature(of: $0.message)) }, failure: failure, at: moment)
      }
    case .answer(let exchange, let fault):
      try take(result(of: exchange, fault), of: exchange.number, exchange.body.fault)
    case .told(let number, let result, let fault): try take(result, of: number, fault)
    }
  }

  /// Has the device take what came of a request.
  ///
  /// Now and then the disk fails it, and it is tried again, as the library does.
  private func take(
    _ result: Result<Response, ConnectionFailure>, of number: ExchangeNumber, _ fault: String?
  ) throws {
    guard let core, faultPercent > 0, chance(10) else {
      return try transact { core in
        try core.take(result, of: number, fault: fault, at: moment)
      }
    }
    faults.append("disk at \(nowMs)")
    try core.begin()
    try core.take(result, of: number, fault: fault, at: moment)
    core.rollBack()
    schedule(.told(number, result, fault: fault), afterMs: 1 + below(2000))
  }

  func result(
    of exchange: OutgoingExchange, _ fault: Fault
  ) -> Result<Response, ConnectionFailure> {
    func failure(_ mayHaveArrived: Bool) -> Result<Response, ConnectionFailure> {
      .failure(ConnectionFailure(reason: "cut", mayHaveArrived: mayHaveArrived))
    }
    if fault != .none { faults.append("\(fault) at \(nowMs)") }
    guard Self.bytes(of: exchange.body) != nil else { return failure(true) }
    switch fault {
    case .none: return .success(answer(exchange))
    case .requestLost: return failure(false)
    case .answerLost:
      _ = answer(exchange)
      return failure(true)
    case .portal:
      return .success(
        Response(
          status: 200, headers: [("Content-Type", "text/html")], body: Array("<html>".utf8)))
    case .redirected: return .success(Response(status: 302, headers: [], body: []))
    case .overloaded:
      return .success(Response(status: 503, headers: [("Retry-After", "3")], body: []))
    case .limited: return .success(Response(status: 429, headers: [], body: []))
    case .tooLarge:
      // One item by itself is taken: else it would be refused, and rightly so.
      guard case .bytes(let bytes) = exchange.body, bytes.count(where: { $0 == 0x0A }) > 2 else {
        return .success(answer(exchange))
      }
      relay.bodyBytesMax = bytes.count - 1
      defer { relay.bodyBytesMax = 32 << 20 }
      return .success(answer(exchange))
    case .signedOut:
      relay.token = "another"
      defer { relay.token = "token" }
      return .success(answer(exchange))
    }
  }

  func answer(_ exchange: OutgoingExchange) -> Response {
    let body = Self.bytes(of: exchange.body) ?? []
    let headers =
      exchange.headers.map { ($0.name, $0.value) }
      + [("Authorization", "Bearer token")]
    return respond(exchange.method, exchange.path, headers, body)
  }

  /// A request's body; nil if it must not be sent.
  static func bytes(of body: ExchangeBody) -> [UInt8]? {
    switch body {
    case .none: return []
    case .bytes(let bytes): return bytes
    case .file(let stretch):
      var bytes: [UInt8] = []
      while bytes.count < stretch.count {
        guard let piece = try? stretch.piece(at: Int64(bytes.count)) else { return nil }
        bytes += piece
      }
      return bytes
    }
  }

  /// The relay's answer.
  func respond(
    _ method: String, _ path: String, _ headers: [(String, String)], _ body: [UInt8]
  ) -> Response {
    scheduled?.respond(method, path, headers, body, &relay)
      ?? relay.respond(method, path, headers, body)
  }

  func fault() -> Fault {
    guard chance(faultPercent) else { return .none }
    return Fault.allCases[Int(below(Int64(Fault.allCases.count)))]
  }
}
