import JSON
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

/// The core by itself, over the real file, which is opened anew as after a kill.
@Suite("A device that is killed while it signs")
struct SignedKillTests {
  @Test("asks for the same statement again, and none goes twice or otherwise")
  func beforeSignature() throws {
    let stand = try KilledStand()
    try stand.enqueue([1, 2])
    let asked = try #require(try stand.pump().tasks)
    #expect(asked.map(\.sequence) == [1, 2])
    #expect(try stand.pump().tasks == nil, "it is asked already")
    try stand.kill()
    let again = try #require(try stand.pump().tasks)
    #expect(again == asked)
    try stand.sign(again)
    #expect(try stand.finish() == ["/1", "/2"])
  }

  @Test("sends what was signed before the kill, and asks no signer for it")
  func beforePost() throws {
    let stand = try KilledStand()
    try stand.enqueue([1, 2])
    let asked = try #require(try stand.pump().tasks)
    try stand.sign(asked, pumps: false)
    let fields = try stand.fields()
    #expect(fields.count == 2)
    try stand.kill()
    let sent = try stand.pump()
    #expect(sent.tasks == nil)
    #expect(try stand.fields() == fields)
    let exchange = try #require(sent.exchange)
    #expect(stand.signatures(in: exchange) == fields)
  }

  @Test("repeats a post of which no answer came exactly as it was")
  func beforeAnswer() throws {
    let stand = try KilledStand()
    try stand.enqueue([1, 2])
    let asked = try #require(try stand.pump().tasks)
    let sent = try #require(try stand.sign(asked))
    _ = stand.answer(sent)
    try stand.kill()
    let again = try stand.pump()
    #expect(again.tasks == nil)
    let exchange = try #require(again.exchange)
    #expect(stand.signatures(in: exchange) == stand.signatures(in: sent))
    try stand.take(exchange)
    #expect(stand.relay.delivered.map(\.path) == ["/1", "/2"])
  }

  @Test("keeps what was signed of a batch before its signer failed")
  func half() throws {
    let stand = try KilledStand()
    try stand.enqueue([1, 2, 3])
    let asked = try #require(try stand.pump().tasks)
    let sent = try #require(try stand.sign(Array(asked.prefix(2)), failure: "locked"))
    #expect(stand.signatures(in: sent).count == 2)
    try stand.take(sent)
    #expect(stand.relay.delivered.map(\.path) == ["/1", "/2"])
    stand.now.monotonicMs += 10_000
    let rest = try #require(try stand.pump().tasks)
    #expect(rest == [asked[2]])
  }

  @Test("an answer of the signer for what was changed meanwhile is not used")
  func changedMeanwhile() throws {
    let stand = try KilledStand()
    try stand.enqueue([1, 2])
    let asked = try #require(try stand.pump().tasks)
    try stand.edit(1, path: "/changed")
    if let voids = try stand.sign(asked) { #expect(stand.signatures(in: voids).isEmpty) }
    let again = try #require(stand.lastTasks)
    #expect(again.map(\.sequence) == [3, 4])
    try stand.sign(again)
    #expect(try stand.finish() == ["/changed", "/2"])
    let audit = SignedUpstream.audit(stand.relay.requests, "a", [stand.signer])
    #expect(try audit.verdict().get().signed == 2)
  }

  @Test("a disk that does not take a signature leaves everything as it was")
  func diskFails() throws {
    let stand = try KilledStand()
    try stand.enqueue([1])
    let asked = try #require(try stand.pump().tasks)
    try stand.core.begin()
    try stand.core.takeSignatures(
      asked.map { ($0, stand.signer.signature(of: $0.message)) }, failure: nil, at: stand.now)
    stand.core.rollBack()
    #expect(stand.core.state.signing.isAsking)
    try stand.sign(asked)
    #expect(try stand.finish() == ["/1"])
  }

  @Test("a text that has to be uploaded after all is signed under another number")
  func uploadInstead() throws {
    let stand = try KilledStand()
    stand.relay.bodyBytesMax = 3000
    try stand.enqueue([1])
    try stand.enqueue([2], bytes: 2000)
    // The relay puts a type in only where it comes in a post.
    try stand.goOn()
    #expect(stand.relay.delivered.map(\.sequence) == [1, 3])
    let audit = SignedUpstream.audit(stand.relay.requests, "a", [stand.signer])
    #expect(try audit.verdict().get().signed == 2)
  }

  @Test("what is signed goes ahead while a post is under way")
  func ahead() throws {
    let stand = try KilledStand(batchItems: 2)
    try stand.enqueue([1, 2, 3, 4])
    let begun = try #require(try stand.pump().tasks)
    let first = try #require(try stand.sign(begun))
    let asked = try #require(stand.lastTasks)
    #expect(asked.map(\.sequence) == [3, 4])
    #expect(try stand.sign(asked) == nil)
    #expect(stand.core.state.ahead != nil)
    try stand.take(first)
    #expect(stand.relay.delivered.map(\.path) == ["/1", "/2"])
  }
}

/// A core that signs, and that can be killed.
private final class KilledStand {
  let folder: TemporaryFolder
  let signer = TestSigner()
  private(set) var core: OutboxCore
  var relay = RelayModel()
  var now = Moment(wallMs: 1_800_000_000_000, monotonicMs: 1000, boot: 1)
  private(set) var lastTasks: [SigningTask]?
  private(set) var lastExchange: OutgoingExchange?
  private let settings: CoreSettings

  init(batchItems: Int = 10) throws {
    folder = try TemporaryFolder()
    var sending = Sending()
    sending.batchItems = batchItems
    sending.checkInEvery = nil
    settings = CoreSettings(
      destination: .relay(base: "http://relay", client: "device"), lanes: [:], collections: [:],
      limits: Limits(), sending: sending, asksReadiness: false, bodies: folder.path,
      verifier: TestReceiptVerifier(), signer: signer)
    core = try Self.open(folder, settings)
  }

  private static func open(_ folder: TemporaryFolder, _ settings: CoreSettings) throws -> OutboxCore
  {
    let core = try OutboxCore(
      OutboxFile(path: "\(folder.path)/outbox.sqlite3", durability: .ordered), settings,
      bootID: "boot", incarnation: "device", random: { 7 })
    // The first item of a lane would go by itself.
    core.state.confirmedLanes = Set(core.state.lanes.keys)
    return core
  }

  /// The process ends, and is started anew.
  func kill() throws { core = try Self.open(folder, settings) }

  func enqueue(_ numbers: [Int], bytes: Int = 1) throws {
    try core.begin()
    let items = numbers.map { number in
      NewItem(
        key: "key-\(number)", lane: "a",
        request: KeptRequest(upstream: nil, method: "POST", path: "/\(number)", headers: []),
        body: .bytes([UInt8](repeating: UInt8(number), count: bytes)))
    }
    _ = try core.enqueue(items, at: now)
    _ = try core.commit()
    core.state.confirmedLanes = Set(core.state.lanes.keys)
  }

  func edit(_ id: Int64, path: String) throws {
    try core.begin()
    _ = try core.edit(
      Item.ID(raw: id),
      RequestEdit(
        request: KeptRequest(upstream: nil, method: "POST", path: path, headers: []),
        body: .bytes([9])), at: now)
    _ = try core.commit()
  }

  /// What the core wants done by itself.
  @discardableResult
  func pump() throws -> (tasks: [SigningTask]?, exchange: OutgoingExchange?) {
    try core.begin()
    try core.pump(at: now)
    return read(try core.commit())
  }

  private func read(_ effects: [Effect]) -> (tasks: [SigningTask]?, exchange: OutgoingExchange?) {
    var found: (tasks: [SigningTask]?, exchange: OutgoingExchange?)
    for effect in effects {
      if case .sign(let tasks) = effect { found.tasks = tasks }
      if case .send(let exchange) = effect { found.exchange = exchange }
    }
    (lastTasks, lastExchange) = found
    return found
  }

  /// The signer has answered.
  ///
  /// - Returns: What the core sends then.
  @discardableResult
  func sign(
    _ tasks: [SigningTask], failure: String? = nil, pumps: Bool = true
  ) throws -> OutgoingExchange? {
    try core.begin()
    try core.takeSignatures(
      tasks.map { ($0, signer.signature(of: $0.message)) }, failure: failure, at: now)
    if pumps { try core.pump(at: now) }
    return read(try core.commit()).exchange
  }

  func answer(_ exchange: OutgoingExchange) -> Response {
    var body: [UInt8] = []
    if case .bytes(let bytes) = exchange.body { body = bytes }
    return relay.respond(
      exchange.method, exchange.path, exchange.headers.map { ($0.name, $0.value) }, body)
  }

  /// The relay's answer to a request is taken.
  func take(_ exchange: OutgoingExchange) throws {
    let response = answer(exchange)
    try core.begin()
    try core.take(.success(response), of: exchange.number, at: now)
    try core.pump(at: now)
    _ = read(try core.commit())
  }

  /// Signs and sends until nothing is left.
  func goOn() throws {
    try pump()
    for _ in 0..<100 {
      let (tasks, exchange) = (lastTasks, lastExchange)
      if let tasks { try sign(tasks) }
      if let exchange { try take(exchange) }
      guard tasks == nil, exchange == nil else { continue }
      now.monotonicMs += 1000
      try pump()
    }
  }

  /// Everything goes that can.
  ///
  /// - Returns: The paths of what came.
  func finish() throws -> [String] {
    for number in core.state.exchanges.keys {
      // It was sent by the last call, and nobody has answered.
      try core.begin()
      try core.take(
        .failure(ConnectionFailure(reason: "cut", mayHaveArrived: true)), of: number, at: now)
      _ = try core.commit()
    }
    now.monotonicMs += 1_000_000
    try goOn()
    return relay.delivered.map(\.path)
  }

  /// The stored fields.
  func fields() throws -> [String] { try core.file.allSignatures().compactMap(\.jws) }

  /// The fields in a post.
  func signatures(in exchange: OutgoingExchange) -> [String] {
    guard case .bytes(let bytes) = exchange.body else { return [] }
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let headers = try? JSONValue.parse(Array(line)).object()["headers"]?.object()
      return (try? headers?["Item-Signature"]?.string()) ?? nil
    }
  }
}
