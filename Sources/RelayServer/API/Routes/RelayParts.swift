import Cryptography
import EventLoop
import Forwarder
import RelayCore
import Synchronization

/// The parts of a running relay that answer its requests, and how it stands.
///
/// Made once, when the relay starts.
final class RelayParts: Sendable {
  /// The configuration in force, and its origin.
  let inForce: Mutex<ConfigurationInForce>
  /// The listeners, which stay what they are until a restart.
  let listeners: [ListenerConfiguration]
  /// The store, which keeps the envelopes.
  let store: any EnvelopeStore
  /// The same, if it keeps them in files on this machine; else nil.
  let embedded: (any EmbeddedStore)?
  /// The name under which the relay stands in `Via`.
  let pseudonym: String
  /// The dispatcher, which carries out the scheduler's decisions.
  let dispatcher: Dispatcher
  /// The access table: it says who may use the relay.
  let access: Access
  /// The budget for bytes of requests in memory.
  let memory: MemoryBudget
  /// The quotas: what waits of each client, and how much may.
  let quotas: QuotaKeeper
  /// The uploads that are open.
  let uploads: UploadDesk
  /// The receipts that senders ask for.
  let receipts: ReceiptDesk
  /// The gate that says if posts are taken at all just now.
  let admission: AdmissionGate
  /// The places of callers that wait for the outcome of an envelope or a run.
  let waits = PlaceKeeper()
  /// The places of callers for whom the store is searched.
  let listings = PlaceKeeper()
  /// The places of operators that have an upstream tried.
  let trials = PlaceKeeper()
  /// Questions to the store that are not waited for at length.
  let briefQuestions = BriefQuestions()
  /// The operations, each on many envelopes.
  let operations: OperationDesk
  /// The turns in which pieces of listings are read.
  let listingTurns = ListingTurns()
  /// Counts for the rates on `/status`.
  let meter: RateMeter
  /// Counts for `/metrics`.
  let metrics: RelayMetrics
  /// The relay's log.
  let log: Log
  /// The server that the senders call.
  let front: ServerFront
  /// Counts of what was passed on while the relay was a spare; nil if it does not listen as one.
  let passed: PassingFigures?
  /// The time of the relay's start.
  let startedAt: WallTime
  /// The same, by the clock that nobody sets.
  private let startedMonotonic: MonotonicTime
  private let draining = Atomic(false)
  private let keys = Mutex<ReceiptKeys?>(nil)

  /// Makes those parts that only requests need, beside those that run already.
  ///
  /// All of them go by the defaults until the relay takes up its configuration.
  init(
    listeners: [ListenerConfiguration], store: any EnvelopeStore, embedded: (any EmbeddedStore)?,
    pseudonym: String, dispatcher: Dispatcher, access: Access, front: ServerFront,
    passed: PassingFigures?
  ) {
    let nothing = Configuration()
    inForce = Mutex(
      ConfigurationInForce(
        settings: RelaySettings(nothing, numbers: [:]), loadedAt: WallClock.now()))
    self.listeners = listeners
    self.store = store
    self.embedded = embedded
    self.pseudonym = pseudonym
    self.dispatcher = dispatcher
    self.access = access
    self.front = front
    self.passed = passed
    meter = dispatcher.meter
    metrics = dispatcher.metrics
    log = dispatcher.log
    quotas = dispatcher.quotas
    uploads = UploadDesk(quotas: dispatcher.quotas)
    receipts = ReceiptDesk(store)
    operations = OperationDesk { [listeners = dispatcher.listeners] in listeners.ring() }
    admission = AdmissionGate(
      delayMsMax: nothing.limits.acceptanceDelayMsMax, log: log, meter: meter)
    memory = MemoryBudget(bytesMax: nothing.limits.memoryInFlightBytesMax)
    startedAt = WallClock.now()
    startedMonotonic = MonotonicClock.now()
  }

  // MARK: - The configuration in force

  /// The configuration in force, for parts that look things up.
  var settings: RelaySettings { inForce.withLock { $0.settings } }

  /// The configuration in force.
  var configuration: Configuration { settings.configuration }

  /// The number of a configured upstream; nil if no such upstream is configured.
  func upstreamNumber(_ name: String) -> UpstreamNumber? { settings.numbers[name] }

  /// The numbers of the upstreams, by their names.
  var upstreamNumbers: [String: UpstreamNumber] { settings.numbers }

  // MARK: - The keys of receipts

  /// The keys that sign receipts; nil if the relay signs none.
  var receiptKeys: ReceiptKeys? { keys.withLock { $0 } }

  /// What is signed from now on is signed with these; nil for nothing.
  func takeUp(_ new: ReceiptKeys?) { keys.withLock { $0 = new } }

  // MARK: - How the relay stands

  /// True while it shuts down and takes nothing new.
  var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// It takes nothing new from now on.
  func beginDraining() { draining.store(true, ordering: .relaxed) }

  /// For how long it has run, in seconds.
  var uptimeSeconds: Int64 {
    MonotonicClock.now().milliseconds(since: startedMonotonic) / 1000
  }

  /// The present faults of the certificates of listeners, and of those that upstreams are shown.
  func certificateProblems() -> [NeedFacts.CertificateProblem] {
    let now = now().wall
    return front.certificateProblems(at: now).map { NeedFacts.CertificateProblem($0) }
      + identities.flatMap { name, identity in
        CertificateFindings(identity, now: now).problems.map {
          NeedFacts.CertificateProblem($0, upstream: name)
        }
      }
  }

  /// What these certificates, and the listeners' revocation lists, are, and when each ends.
  var certificateEnds: [NeedFacts.Certificate] {
    front.certificateEnds.map { NeedFacts.Certificate(what: $0.what, endsAt: $0.endsAt) }
      + identities.map { name, identity in
        let seconds = identity.facts.validUntilSeconds
        return NeedFacts.Certificate(
          what: "\(identity.path): the certificate of \(identity.facts.name) for \(name)",
          endsAt: WallTime(millisecondsSinceEpoch: seconds * 1000), upstream: name)
      }
  }

  /// What the configured upstreams are shown, with their names.
  private var identities: [(upstream: String, identity: ClientIdentity)] {
    settings.numbers.sorted { $0.key < $1.key }.compactMap { name, number in
      dispatcher.target(of: number)?.identity.map { (name, $0) }
    }
  }

  /// The store; nil while it has not answered for so long that whoever asks would wait in vain.
  ///
  /// One on this machine is always there.
  var reachableStore: (any EnvelopeStore)? { store.mayAttempt ? store : nil }

  /// What needs somebody, as of now; as of the last look, if another one takes too long.
  ///
  /// - Parameters:
  ///   - ageMs: How old it may be, in milliseconds.
  ///   - deadline: The latest time for an answer; nil for the longest wait of a brief question.
  func needs(ageMs: Int64 = 0, until deadline: MonotonicTime? = nil) async -> [Need] {
    let keeper = dispatcher.needs
    let deadline = deadline ?? BriefQuestions.deadline(at: now().monotonic)
    let needs = await briefQuestions.ask(on: dispatcher.loop, until: deadline) {
      await keeper.needs(ageMs: ageMs)
    }
    return needs ?? keeper.known
  }

  // MARK: - Time

  /// Both clocks, read at one moment.
  func now() -> Now { Clocks.read() }

  /// The time from which new deadlines count: the time of day, or later if the machine's clock was
  /// set lately.
  func deadlineStart() -> WallTime { WallClock.deadlineStart() }

  /// The times from which spans count that a call names which comes just now.
  func arrival() -> ArrivalTime { WallClock.arrival() }

  /// Waits for a moment, also in a task that is cancelled: a change is seen through though its
  /// sender has gone.
  func pause(milliseconds: Int64) async {
    await withUnsafeContinuation { continuation in
      _ = dispatcher.loop.schedule(afterMs: milliseconds) { continuation.resume() }
    }
  }
}
