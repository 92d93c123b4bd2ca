import RelayCore
import Synchronization

/// Does what the core wants done: requests, questions to the app, alarms.
final class Driver: Sendable {
  private struct State {
    var store: StoreThread?
    var alarm: (atMs: Int64, task: Task<Void, Never>)?
    var tasks: [Int: Task<Void, Never>] = [:]
    var nextTask = 0
    var runs: [RunNumber: UnsafeContinuation<RunReport, Never>] = [:]
    var finished: [RunNumber: RunReport] = [:]
    var waiters: [Int64: [Int: AsyncStream<Outcome>.Continuation]] = [:]
    var nextWaiter = 0
    var handlers: [String: Handler] = [:]
    var credential: Credential??
    /// Grows with each change of the credential.
    var credentials = 0
    var isClosed = false
  }

  /// Makes a request of a command's bytes.
  typealias Handler =
    @Sendable (
      _ stored: [UInt8], _ version: Int, _ attempt: Attempt
    ) async throws -> Making

  let settings: Settings
  let hub: EventHub
  let bodies: String
  private let state = Mutex(State())

  /// The pause after which what the disk has not taken is tried again.
  static let diskPause: Duration = .seconds(1)

  init(_ settings: Settings, hub: EventHub, bodies: String) {
    self.settings = settings
    self.hub = hub
    self.bodies = bodies
  }

  /// Begins to work with a store.
  func attach(_ store: StoreThread) { state.withLock { $0.store = store } }

  private var store: StoreThread? { state.withLock { $0.store } }

  /// Ends all that is under way.
  func close() {
    let (tasks, alarm, runs, waiters) = state.withLock { state in
      state.isClosed = true
      let taken = (state.tasks, state.alarm, state.runs, state.waiters)
      state.tasks = [:]
      state.alarm = nil
      state.runs = [:]
      state.waiters = [:]
      state.store = nil
      return taken
    }
    for task in tasks.values { task.cancel() }
    alarm?.task.cancel()
    for continuation in runs.values {
      continuation.resume(returning: .nothing)
    }
    for continuation in waiters.values.flatMap(\.values) { continuation.finish() }
  }

  /// Does what the core wants done.
  func perform(_ effects: [Effect]) {
    for effect in effects {
      switch effect {
      case .send(let exchange): spawn { await self.send(exchange) }
      case .prepare(let item, let command): spawn { await self.prepare(item, command) }
      case .sign(let tasks): spawn { await self.sign(tasks) }
      case .askCredentials(true): spawn { await self.askCredentials() }
      case .askCredentials(false):
        forgetCredential()
        tell(.credentialsRefused)
      case .tell(let event): tell(event)
      case .alarm(let atMs): arm(atMs)
      case .removeFile(let name): Platform.remove("\(bodies)/\(name)")
      case .finishRun(let number, let report): finish(number, report)
      }
    }
  }

  private func spawn(_ work: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      guard !state.isClosed else { return }
      let number = state.nextTask
      state.nextTask += 1
      state.tasks[number] = Task {
        await work()
        self.state.withLock { _ = $0.tasks.removeValue(forKey: number) }
      }
    }
  }

  // MARK: - Alarms

  private func arm(_ atMs: Int64) {
    let clock = settings.clock
    state.withLock { state in
      guard !state.isClosed, state.alarm.map({ atMs < $0.atMs }) ?? true else { return }
      state.alarm?.task.cancel()
      let waitMs = max(1, atMs - clock.monotonic.milliseconds)
      let task = Task {
        do { try await clock.sleep(.milliseconds(waitMs)) } catch { return }
        self.ring(atMs)
      }
      state.alarm = (atMs, task)
    }
  }

  private func ring(_ atMs: Int64) {
    state.withLock { if $0.alarm?.atMs == atMs { $0.alarm = nil } }
    spawn { await self.persist { core, _ in } }
  }

  /// Has the core do something, as often as it takes for the disk to take it.
  func persist(
    _ work: @escaping @Sendable (OutboxCore, Moment) throws(StoreError) -> Void
  ) async {
    while let store {
      do throws(StoreError) { return try await store.run(work) } catch {
        guard error.kind != .closed else { return }
        do { try await settings.clock.sleep(Self.diskPause) } catch { return }
      }
    }
  }

  // MARK: - Requests

  private func send(_ exchange: OutgoingExchange) async {
    let hub = hub
    let before = state.withLock { $0.credentials }
    var result: Result<Response, ConnectionFailure>
    do throws(ConnectionFailure) {
      let request = OutgoingRequest(
        method: exchange.method, path: exchange.path, headers: exchange.headers,
        body: exchange.body)
      result = .success(
        try await self.request(request) { progress in
          guard let item = exchange.item else { return }
          let whole = exchange.part?.whole(progress) ?? progress
          hub.tell(.sending(Item.ID(raw: item), whole))
        })
    } catch {
      result = .failure(error)
    }
    if case .success(let response) = result, response.status == 401,
      state.withLock({ $0.credentials }) != before
    {
      // Another request has brought other credentials meanwhile: these are not refused.
      result = .failure(
        ConnectionFailure(reason: "it was signed in anew meanwhile", mayHaveArrived: false))
    }
    await persist { [result] core, now throws(StoreError) in
      try core.take(result, of: exchange.number, fault: exchange.body.fault, at: now)
    }
  }

  /// Makes a request, signed in.
  func request(
    _ request: OutgoingRequest, progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws(ConnectionFailure) -> Response {
    let credential = await credential()
    var exchange = Exchange(
      method: request.method, url: base + request.path,
      headers: request.headers.map { ($0.name, $0.value) }, body: request.body,
      identity: credential?.identity, timeout: settings.sending.timeout)
    if let (name, value) = credential?.header {
      let isTaken = request.headers.contains { $0.isNamed("authorization") }
      // That of a request is for the upstream (docs/protocol.md, "Who you are").
      exchange.headers.append((isTaken ? "Waystation-Authorization" : name, value))
    }
    return try await settings.transport.send(exchange, progress: progress)
  }

  private var base: String {
    let base =
      switch settings.destination {
      case .relay(let base, _, _), .direct(let base): base
      }
    return base.hasSuffix("/") ? String(base.dropLast()) : base
  }

  private func credential() async -> Credential? {
    let now = settings.clock.wall
    if let known = state.withLock({ $0.credential }), known?.expires.map({ now < $0 }) ?? true {
      return known
    }
    let current = await settings.credentials.current()
    state.withLock { $0.credential = .some(current) }
    return current
  }

  /// The credential is asked for again before the next request.
  func forgetCredential() { state.withLock { $0.credential = nil } }

  private func askCredentials() async {
    let old = state.withLock { $0.credential } ?? nil
    guard let new = await settings.credentials.refused(old) else {
      // Those of then are asked for before the next try.
      forgetCredential()
      return tell(.credentialsRefused)
    }
    state.withLock { state in
      state.credential = .some(new)
      state.credentials += 1
    }
    await persist { core, _ in core.state.sender.signIn() }
  }

  // MARK: - The app's own code

  /// Registers who makes requests of the commands of a tag.
  func register(_ tag: Tag, _ handler: @escaping Handler) {
    state.withLock { $0.handlers[tag.name] = handler }
  }

  private func prepare(_ item: Item, _ command: (stored: [UInt8], version: Int)?) async {
    let said = await say(of: item, command)
    await persist { core, now throws(StoreError) in try core.take(said, of: item.id, at: now) }
  }

  private func say(
    of item: Item, _ command: (stored: [UInt8], version: Int)?
  ) async -> Prepared {
    if case .skip(let after) = await settings.readiness.isReady(item) {
      return .notReady(afterMs: after?.milliseconds)
    }
    guard let (stored, version) = command else { return .ready }
    let tag = item.tag?.name ?? ""
    guard let handler = state.withLock({ $0.handlers[tag] }) else { return .noHandler(tag) }
    do {
      let attempt = Attempt(item: item, number: item.attempts + 1)
      switch try await handler(stored, version, attempt) {
      case .request(let request):
        let (kept, body) = try ItemRules.checked(request, settings, bodies: bodies)
        return .request(kept, body)
      case .notYet(let after): return .notReady(afterMs: after?.milliseconds)
      case .drop(let reason): return .drop(reason: reason)
      case .failed(let error): return .failed(error)
      }
    } catch let error as RecordedError {
      return .failed(error)
    } catch {
      return .failed(RecordedError(id: "making", message: "\(error)"))
    }
  }

  // MARK: - Those who wait

  private func tell(_ event: Event) {
    // First: whoever listens from an item's outcome on is not told of what came before it.
    hub.tell(event)
    switch event {
    case .ended(let item, let outcome): resolve(item, outcome)
    case .errorRecorded(let item, let error): resolve(item, .refused(nil, error))
    default: break
    }
  }

  private func resolve(_ item: Item.ID, _ outcome: Outcome) {
    let waiters = state.withLock { $0.waiters[item.raw] ?? [:] }
    for continuation in waiters.values { continuation.yield(outcome) }
  }

  /// What becomes of an item, from now on.
  func outcomes(of item: Item.ID) -> (stream: AsyncStream<Outcome>, number: Int) {
    let (stream, continuation) = AsyncStream.makeStream(of: Outcome.self)
    let number = state.withLock { state in
      let number = state.nextWaiter
      state.nextWaiter += 1
      if state.isClosed {
        continuation.finish()
      } else {
        state.waiters[item.raw, default: [:]][number] = continuation
      }
      return number
    }
    return (stream, number)
  }

  /// Ends a stream of ``outcomes(of:)``.
  func endOutcomes(of item: Item.ID, _ number: Int) {
    let continuation = state.withLock { state in
      let found = state.waiters[item.raw]?.removeValue(forKey: number)
      if state.waiters[item.raw]?.isEmpty == true { state.waiters[item.raw] = nil }
      return found
    }
    continuation?.finish()
  }

  /// The report of a run, once it is over.
  func report(of run: RunNumber) async -> RunReport {
    await withUnsafeContinuation { continuation in
      let finished: RunReport? = state.withLock { state in
        if let report = state.finished.removeValue(forKey: run) { return report }
        if state.isClosed { return .nothing }
        state.runs[run] = continuation
        return nil
      }
      if let finished { continuation.resume(returning: finished) }
    }
  }

  /// A run is over.
  func finish(_ run: RunNumber, _ report: RunReport) {
    let continuation = state.withLock { state in
      let found = state.runs.removeValue(forKey: run)
      if found == nil { state.finished[run] = report }
      return found
    }
    continuation?.resume(returning: report)
  }
}
