import Synchronization
import WaystationOutbox

/// A relay for an app's own tests: in memory, with an upstream that does what the test says, and a
/// link that can be cut.
///
/// ```swift
/// let relay = ScriptedRelay()
/// var settings = Settings(
///   folder: folder, destination: .relay(base: "http://relay", client: "test"), transport: relay)
/// let outbox = try await Outbox.open(settings)
/// relay.cut()
/// try await outbox.enqueue(Request("POST", "/friends/7/accept"))
/// relay.mend()
/// await outbox.wake()
/// ```
public final class ScriptedRelay: Transport {
  /// A request as the upstream has taken it.
  public struct Delivered: Sendable, Equatable {
    /// Its path.
    public let path: String
    /// Its key, which stands in `Idempotency-Key`.
    public let key: String
    /// The lane that it came through.
    public let lane: String
    /// Its body.
    public let body: [UInt8]
    /// The number that it had in its lane; nil if it had none.
    public let sequence: UInt64?
    /// What a receipt covers of it: `H(item(n))` of `docs/receipts.md`.
    public let digest: [UInt8]
    /// What the device has signed of it, as it stands in `Item-Signature`; nil for nothing.
    public let signature: String?
  }

  private struct State {
    var model = RelayModel()
    var failure: ConnectionFailure?
    var losesAnswers = false
    var requests = 0
  }

  private let state = Mutex(State())

  /// A relay whose upstream takes everything with 200.
  public init() {}

  /// Answers a request as a relay would.
  public func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    let body = try Self.bytes(of: exchange.body)
    let answer: Result<Response, ConnectionFailure> = state.withLock { state in
      state.requests += 1
      if let failure = state.failure { return .failure(failure) }
      let response = state.model.respond(
        exchange.method, Self.path(of: exchange.url), exchange.headers, body)
      guard !state.losesAnswers else {
        return .failure(ConnectionFailure(reason: "the answer was lost", mayHaveArrived: true))
      }
      return .success(response)
    }
    return try answer.get()
  }

  private static func bytes(of body: ExchangeBody) throws(ConnectionFailure) -> [UInt8] {
    switch body {
    case .none: return []
    case .bytes(let bytes): return bytes
    case .file(let stretch):
      var bytes: [UInt8] = []
      while bytes.count < stretch.count { bytes += try stretch.piece(at: Int64(bytes.count)) }
      return bytes
    }
  }

  private static func path(of url: String) -> String {
    guard let scheme = url.firstRange(of: "://") else { return url }
    let rest = url[scheme.upperBound...]
    return rest.firstIndex(of: "/").map { String(rest[$0...]) } ?? "/"
  }

  // MARK: - The link

  /// Nobody can be reached from now on.
  public func cut(_ reason: String = "the link is cut") {
    state.withLock {
      $0.failure = ConnectionFailure(reason: reason, mayHaveArrived: false)
    }
  }

  /// Requests arrive from now on, and their answers do not.
  public func loseAnswers() { state.withLock { $0.losesAnswers = true } }

  /// The link is whole again.
  public func mend() {
    state.withLock { state in
      state.failure = nil
      state.losesAnswers = false
    }
  }

  // MARK: - The upstream

  /// The upstream refuses requests to this path.
  public func refuse(_ path: String, status: Int = 422, body: String = "") {
    state.withLock { $0.model.verdicts[path] = .refuse(status: status, body: body) }
  }

  /// The upstream takes requests to this path, with this answer.
  public func take(_ path: String, status: Int = 200, body: String = "") {
    state.withLock { $0.model.verdicts[path] = .take(status: status, body: body) }
  }

  /// Whether the upstream is away: the relay keeps what it has.
  public var isUpstreamAway: Bool {
    get { state.withLock { $0.model.verdict == .away } }
    set {
      state.withLock { state in
        state.model.verdict = newValue ? .away : .take(status: 200, body: "")
        state.model.handOn()
      }
    }
  }

  /// The token that is accepted; nil for any.
  public var token: String? {
    get { state.withLock { $0.model.token } }
    set { state.withLock { $0.model.token = newValue } }
  }

  /// The most envelopes that wait at the relay; nil for any number.
  public var roomMax: Int? {
    get { state.withLock { $0.model.roomMax } }
    set { state.withLock { $0.model.roomMax = newValue } }
  }

  /// The relay has no room for the next request to this path, and waits for its number no more.
  public func refuseOnce(_ path: String) {
    state.withLock { _ = $0.model.refusedOnce.insert(path) }
  }

  /// What the upstream has taken, in its order.
  public var delivered: [Delivered] { state.withLock { $0.model.delivered.map(Delivered.init) } }

  /// All that the upstream was sent, in its order: also what it refused.
  public var requests: [Delivered] { state.withLock { $0.model.requests.map(Delivered.init) } }

  /// The requests that have come to the relay.
  public var requestCount: Int { state.withLock { $0.requests } }

  // MARK: - Receipts

  /// Whether it makes receipts, which ``TestReceiptVerifier`` verifies.
  public var makesReceipts: Bool {
    get { state.withLock { $0.model.makesReceipts } }
    set { state.withLock { $0.model.makesReceipts = newValue } }
  }

  /// How it lies in its receipts from now on; nil if it does not.
  public var lie: RelayLie? {
    get { state.withLock { $0.model.lie } }
    set { state.withLock { $0.model.lie = newValue } }
  }

  /// The names of the lanes of which it keeps a ledger; it has to make receipts for that.
  public var evidenceLanes: Set<String> {
    get { state.withLock { $0.model.evidenceLanes } }
    set { state.withLock { $0.model.evidenceLanes = newValue } }
  }

  /// How it lies in its ledgers from now on; nil if it does not.
  public var ledgerLie: LedgerLie? {
    get { state.withLock { $0.model.ledgerLie } }
    set { state.withLock { $0.model.ledgerLie = newValue } }
  }

  /// The names of its keys, the oldest first.
  public var keys: [KeyID] {
    state.withLock { state in (state.model.receipts?.keys ?? []).map { KeyID($0.id) } }
  }

  /// It signs with another key from now on, which the one before has signed.
  ///
  /// - Parameter forgets: Whether it shows the earlier ones no more, as after a theft.
  public func rotateKeys(forgets: Bool = false) {
    state.withLock { $0.model.rotateKeys(forgets: forgets) }
  }

  // MARK: - Backups

  /// The relay as it is now.
  public func backup() -> RelayBackup { state.withLock { RelayBackup(model: $0.model) } }

  /// The relay is put back: it has forgotten what came after the backup.
  ///
  /// The upstream has not.
  public func restore(_ backup: RelayBackup) {
    state.withLock { $0.model.restore(backup.model) }
  }
}

extension ScriptedRelay.Delivered {
  init(_ envelope: RelayModel.Envelope) {
    self.init(
      path: envelope.path, key: envelope.key, lane: envelope.lane, body: envelope.body,
      sequence: envelope.sequence, digest: envelope.sent, signature: envelope.signature)
  }
}

/// A relay as it was once.
public struct RelayBackup: Sendable {
  let model: RelayModel
}
