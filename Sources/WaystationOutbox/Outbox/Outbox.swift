import RelayCore
import SQLite
import Synchronization

/// A queue of HTTP requests on the device, which goes to a Waystation relay, or straight to the
/// upstream, whenever there is a connection.
///
/// - What `enqueue` has returned for is on the disk.
/// - The items of a strict lane go in their order, each once per key.
/// - Nothing ends without a reason that is stored, and an ``Event``.
///
/// It may be used from any task.
public final class Outbox: Sendable {
  let settings: Settings
  let store: StoreThread
  let driver: Driver
  private let doubtful = DoubtfulBodies()
  private let disk: DiskWatch
  let hub: EventHub
  let bodies: String
  private let lock: FolderLock
  private let tasks = Mutex<[Task<Void, Never>]>([])

  /// Opens the outbox of ``Settings/folder``, which may be new, and begins to send.
  ///
  /// - Throws: ``OutboxError``; nothing has been changed then.
  public static func open(_ settings: Settings) async throws(OutboxError) -> Outbox {
    try check(settings)
    do throws(StoreError) { try Platform.createFolders(settings.folder) } catch {
      throw .io(error.words)
    }
    let lock = try FolderLock(settings.folder)
    do throws(StoreError) {
      let outbox = try Outbox(settings, lock)
      outbox.begin()
      return outbox
    } catch {
      if error.kind == .newerSchema { throw .newerSchema(OutboxFile.version(in: settings.folder)) }
      throw .io(error.words)
    }
  }

  private static func check(_ settings: Settings) throws(OutboxError) {
    do throws(ItemRules.Fault) {
      if case .relay(_, let client, _) = settings.destination {
        try ItemRules.check(client, "the client's name")
      }
      for lane in settings.lanes.keys { try ItemRules.check(lane.name, "a lane's name") }
    } catch {
      throw .invalid(error.description)
    }
    let base =
      switch settings.destination {
      case .relay(let base, _, _), .direct(let base): base
      }
    guard base.hasPrefix("http://") || base.hasPrefix("https://") else {
      throw .invalid("the base URL \(base) has to begin with http:// or https://")
    }
    for (lane, its) in settings.lanes where its.custody == .receipt && settings.verifier == nil {
      throw .invalid("the lane \(lane) has custody .receipt, which needs Settings.verifier")
    }
    let core = CoreSettings(settings, bodies: "")
    for (lane, its) in settings.lanes where its.evidence && !core.wantsEvidence(of: lane.name) {
      throw .invalid(
        "the lane \(lane) keeps evidence, which needs Settings.verifier, a relay, and strict order")
    }
    try checkSigner(settings)
    guard !settings.folder.isEmpty else { throw .invalid("the folder has no name") }
  }

  private static func checkSigner(_ settings: Settings) throws(OutboxError) {
    guard settings.signer != nil else { return }
    guard case .relay = settings.destination else {
      throw .invalid(
        "a signer needs a relay: without one there are no numbers to sign, and nobody in between")
    }
    guard settings.verifier != nil else {
      throw .invalid(
        "a signer needs Settings.verifier, which makes the digests that are signed: "
          + "OpenSSLReceiptVerifier() or CryptoKitReceiptVerifier()")
    }
  }

  private init(_ settings: Settings, _ lock: FolderLock) throws(StoreError) {
    self.settings = settings
    self.lock = lock
    bodies = "\(settings.folder)/bodies"
    try Platform.createFolder(bodies)
    let incarnation = try Incarnation.read(in: settings.folder)
    let clock = settings.clock
    var damage: String?
    let core = try Self.openCore(settings, bodies: bodies, incarnation, &damage)
    if settings.startPaused { core.state.isPaused = true }
    let names = try core.file.fileNames()
    // Those of a damaged database may be of use to somebody.
    let aside = damage == nil ? nil : "\(bodies).damaged"
    if let aside { try Platform.createFolder(aside) }
    for name in Platform.names(in: bodies) where !names.contains(name) {
      if let aside {
        try Platform.move("\(bodies)/\(name)", to: "\(aside)/\(name)")
      } else {
        Platform.remove("\(bodies)/\(name)")
      }
    }
    disk = DiskWatch(of: settings.folder, clock)
    hub = EventHub()
    let driver = Driver(settings, hub: hub, bodies: bodies)
    self.driver = driver
    store = StoreThread(
      core,
      now: { boot in
        Moment(
          wallMs: clock.wall.milliseconds, monotonicMs: clock.monotonic.milliseconds, boot: boot)
      }, perform: { driver.perform($0) },
      damaged: { [hub] error in Self.mark(settings.folder, error, hub) },
      failing: { [hub] error in hub.tell(.storeFailing(error.words)) })
    driver.attach(store)
    if let damage { hub.keep(.damaged(damage)) }
  }

  /// Opens the database and takes up what it holds.
  ///
  /// What is damaged is salvaged at once.
  private static func openCore(
    _ settings: Settings, bodies: String, _ incarnation: String, _ damage: inout String?
  ) throws(StoreError) -> OutboxCore {
    let clock = settings.clock
    func open(_ damage: inout String?) throws(StoreError) -> OutboxCore {
      try OutboxCore(
        OutboxFile.open(in: settings.folder, durability: settings.durability, damage: &damage),
        CoreSettings(settings, bodies: bodies), bootID: clock.bootID, incarnation: incarnation,
        random: { clock.random() })
    }
    do throws(StoreError) { return try open(&damage) } catch {
      guard error.kind == .corrupt, damage == nil else { throw error }
    }
    try Platform.write([], toNew: OutboxFile.mark(in: settings.folder))
    return try open(&damage)
  }

  /// Has the next start salvage what can be read of a database that is damaged.
  private static func mark(_ folder: String, _ error: StoreError, _ hub: EventHub) {
    let mark = OutboxFile.mark(in: folder)
    guard Platform.size(of: mark) == nil else { return }
    try? Platform.write([], toNew: mark)
    hub.tell(.damaged(error.words))
  }

  /// Begins to send, follows what is known of the connection, and looks into the mailbox.
  private func begin() {
    let link = Task { [settings, driver] in
      // A disk that fails just now must not leave what is kept standing until somebody calls.
      await driver.persist { _, _ in }
      for await link in settings.reachability.changes() {
        await driver.persist { core, now in
          let former = core.state.sender.link
          core.state.sender.changed(to: link, at: now.monotonicMs, random: core.random())
          if former != link { core.tell(.reachability(link)) }
        }
      }
    }
    let mail = Task { [weak self, clock = settings.clock] in
      // It holds the outbox only while it looks.
      while await self?.takeMailbox() == true {
        do { try await clock.sleep(Self.mailboxPause) } catch { return }
      }
    }
    tasks.withLock { $0 = [link, mail] }
  }

  /// The time between two looks into the mailbox.
  private static let mailboxPause: Duration = .seconds(2)

  deinit {
    for task in tasks.withLock({ $0 }) { task.cancel() }
    driver.close()
  }

  /// Stops sending, and closes the database.
  ///
  /// What was under way goes again the next time.
  ///
  /// A second call does nothing. Everything else throws from then on, or answers that nothing is
  /// known.
  public func close() async {
    for task in tasks.withLock({ $0 }) { task.cancel() }
    driver.close()
    await store.close()
    hub.close()
    lock.release()
  }

  // MARK: - Handing over

  /// Keeps a request until it has been taken.
  ///
  /// It is on the disk when this returns. An item whose key is known already is the same one, also
  /// after it has ended; another request under that key is refused.
  ///
  /// - Returns: The item's number.
  /// - Throws: ``EnqueueError``; nothing was kept then.
  @discardableResult
  public func enqueue(
    _ request: Request, _ options: Options = Options()
  ) async throws(EnqueueError) -> Item.ID {
    let ids = try await enqueue([(request, options)])
    guard let id = ids.first else { throw .closed }
    return id
  }

  /// Keeps several requests, all of them or none, in their order.
  @discardableResult
  public func enqueue(
    _ batch: [(Request, Options)]
  ) async throws(EnqueueError) -> [Item.ID] {
    var items: [NewItem] = []
    do throws(EnqueueError) {
      for (request, options) in batch { items.append(try newItem(request, options)) }
      let ids = try await enqueue(items)
      for (request, _) in batch { request.body.endMove() }
      return ids
    } catch {
      if case .io = error { leave(items) } else { for item in items { remove(item.body) } }
      throw error
    }
  }

  /// Keeps a command, which becomes a request when its turn comes.
  @discardableResult
  public func enqueue<C: Command>(
    _ command: C, _ options: Options = Options()
  ) async throws(EnqueueError) -> Item.ID {
    var options = options
    options.tag = C.tag
    let stored: [UInt8]
    do { stored = try command.stored() } catch { throw .invalid("the command: \(error)") }
    var item = try newItem(Request("POST", "/"), options)
    item.body = .bytes(stored)
    item.commandVersion = C.version
    let ids = try await enqueue([item])
    guard let id = ids.first else { throw .closed }
    return id
  }

  /// Registers who makes requests of a type of commands.
  ///
  /// Items of commands that nobody makes requests of wait.
  public func register<C: Command>(
    _ type: C.Type, _ make: @escaping @Sendable (C, Attempt) async throws -> Making
  ) async {
    driver.register(C.tag) { stored, version, attempt in
      try await make(C(stored: stored, version: version), attempt)
    }
    await wake()
  }

  private func newItem(
    _ request: Request, _ options: Options
  ) throws(EnqueueError) -> NewItem {
    do {
      try ItemRules.check(options.lane.name, "the lane's name")
      if let tag = options.tag { try ItemRules.check(tag.name, "the tag") }
      if let key = options.key { try ItemRules.check(key, "the key") }
      if let name = options.coalesce { try ItemRules.check(name, "the name to coalesce under") }
      let (kept, body) = try ItemRules.checked(request, settings, bodies: bodies)
      let clock = settings.clock
      return NewItem(
        key: options.key ?? ItemKey.fresh(at: clock.wall, clock.random),
        isFresh: options.key == nil, lane: options.lane.name,
        tag: options.tag?.name, hold: options.hold, coalesce: options.coalesce,
        expiresMs: options.expires.map { max(0, $0.milliseconds) },
        notBeforeMs: options.notBefore.map { max(0, $0.milliseconds) },
        onRefusal: options.onRefusal, userData: options.userData, request: kept, body: body)
    } catch let fault as ItemRules.Fault {
      throw .invalid(fault.description)
    } catch let error as StoreError {
      throw EnqueueError(error)
    } catch {
      throw .invalid("\(error)")
    }
  }

  private func enqueue(_ items: [NewItem]) async throws(EnqueueError) -> [Item.ID] {
    let result: Result<[Item.ID], EnqueueError>
    do throws(StoreError) {
      try disk.check(
        items.reduce(0) { $0 + $1.byteCount }, reserve: settings.limits.reserveBytes)
      result = try await store.run { core, now throws(StoreError) in
        try core.enqueue(items, at: now)
      }
    } catch {
      throw EnqueueError(error)
    }
    return try result.get()
  }

  /// Keeps the bodies of what may come back with the next start.
  private func leave(_ items: [NewItem]) {
    let (isFirst, tooMany) = doubtful.keep(items.compactMap(\.body.fileName))
    for name in tooMany { Platform.remove("\(bodies)/\(name)") }
    guard isFirst else { return }
    Task.detached { [doubtful, driver] in await doubtful.end(by: driver) }
  }

  private func remove(_ body: NewBody) {
    if let name = body.fileName { Platform.remove("\(bodies)/\(name)") }
  }

  /// Keeps a request, and waits a while for what becomes of it.
  ///
  /// It is on the disk before anything is sent. If there is no connection, this returns at once,
  /// and the item goes by itself later.
  ///
  /// - Parameter limit: How long to wait.
  public func saveEventually(
    _ request: Request, _ options: Options = Options(), within limit: Duration
  ) async throws(EnqueueError) -> Outcome {
    let id = try await enqueue(request, options)
    return await outcome(of: id, within: limit, untilUnreachable: true) ?? .stillWaiting(id)
  }
}

extension EnqueueError {
  init(_ error: StoreError) {
    self =
      switch error.kind {
      case .closed: .closed
      case .diskFull: .full(.disk)
      default: .io(error.words)
      }
  }
}

extension StoreError {
  /// The error with what helps an outbox; the advice of the database's own errors is for a relay.
  var words: String {
    guard kind == .corrupt else { return description }
    let ownWords = description.withEach(" \(Self.corruptAdvice)", as: "")
    return "\(ownWords) What can be read is salvaged when it is opened next."
  }
}

extension ChangeError {
  init(_ error: StoreError) {
    self = error.kind == .closed ? .closed : .io(error.words)
  }
}

extension CoreSettings {
  /// What of the settings decides.
  init(_ settings: Settings, bodies: String) {
    self.init(
      destination: settings.destination, lanes: settings.lanes,
      collections: settings.collections, limits: settings.limits, sending: settings.sending,
      asksReadiness: !(settings.readiness is AlwaysReady), bodies: bodies,
      durability: settings.durability, verifier: settings.verifier,
      signer: settings.signer)
  }
}
