import EventLoop
import JSON
import Forwarder
import RelayCore
import SQLiteStore
#if PostgreSQL
import Postgres
import PostgresStore
#endif

/// The store that a relay runs on: the one place that knows which kinds there are.
struct OpenedStore: Sendable {
  /// The store of envelopes.
  let store: any EnvelopeStore
  /// The same, if it keeps them in files on this machine; else nil.
  let embedded: (any EmbeddedStore)?
  /// The same, if other relays share it; else nil.
  let shared: (any SharedStore)?
  private let hold: @Sendable (Configuration) -> Void

  /// Opens the store that a configuration names, and waits for it if another relay has it.
  ///
  /// - Parameters:
  ///   - address: The host and port at which other relays reach this one; nil if they do not.
  ///   - waiting: Is told what is waited for.
  /// - Throws: ``RelayStartError``, also if the task is cancelled while it waits.
  static func open(
    _ configuration: Configuration, _ log: Log, reachedAt address: String?,
    waiting: @escaping @Sendable (StoreWait) -> Void
  ) async throws(RelayStartError) -> OpenedStore {
    do throws(StoreError) {
      #if PostgreSQL
      if let postgres = configuration.store.postgres {
        if let folder = configuration.unusedData {
          log.info(
            "the store is in PostgreSQL: the data folder is not used", ("folder", .text(folder)))
        }
        return try await open(postgres, configuration, reachedAt: address) {
          log.tell($0, reachedAt: address)
          waiting($0)
        }
      }
      #endif
      var options = SQLiteStore.Options()
      options.rules = configuration.storeRules
      options.setsAsideDamaged = configuration.setsAsideDamaged
      let store = try SQLiteStore.open(folder: configuration.data, options: options)
      return OpenedStore(store: store, embedded: store, shared: nil) {
        store.update(to: $0.storeRules)
      }
    } catch {
      throw RelayStartError(description: error.description)
    }
  }

  #if PostgreSQL
  private static func open(
    _ postgres: PostgresConfiguration, _ configuration: Configuration, reachedAt own: String?,
    waiting: @escaping @Sendable (StoreWait) -> Void
  ) async throws(StoreError) -> OpenedStore {
    let address: PostgresAddress
    do throws(PostgresError) {
      address = try postgres.address
    } catch {
      throw StoreError(
        kind: .other, operation: error.operation, subject: error.subject, detail: error.detail)
    }
    var options = PostgresStore.Options { WallClock.now() }
    options.rules = configuration.databaseRules
    options.durability = postgres.durability
    options.relayAddress = own
    options.version = ReleaseVersion.number
    let opened = try await PostgresStore.open(at: address, options, waiting: waiting)
    guard let opened else { throw .stopped(waitingFor: address.subject) }
    return OpenedStore(store: opened, embedded: nil, shared: opened) {
      opened.update(to: $0.databaseRules)
    }
  }
  #endif

  private init(
    store: any EnvelopeStore, embedded: (any EmbeddedStore)?, shared: (any SharedStore)?,
    hold: @escaping @Sendable (Configuration) -> Void
  ) {
    self.store = store
    self.embedded = embedded
    self.shared = shared
    self.hold = hold
  }

  /// Has it go by a configuration from the next transaction on.
  func update(to configuration: Configuration) { hold(configuration) }

  /// How large bodies are read that are no files on this machine; nil if they are files.
  func bodyReading(on loop: EventLoop) -> BodyReading? {
    guard embedded == nil else { return nil }
    return { [store] file, offset, countMax, take in
      Task(executorPreference: loop) {
        do throws(StoreError) {
          take(.success(try await store.bodyBytes(of: file, from: offset, countMax: countMax)))
        } catch {
          take(.failure(error))
        }
      }
    }
  }
}

extension Configuration {
  /// The rules of the embedded store.
  fileprivate var storeRules: StoreRules {
    var rules = StoreRules()
    rules.disk = limits.disk
    rules.eventLogBytesMax = Int64(events.keptBytesMax)
    rules.auditEntriesMax = audit.entriesMax
    rules.startPauses = startPauses
    rules.names = limits.names
    rules.receipts = receiptRules
    return rules
  }

  #if PostgreSQL
  /// The rules of the store in a database.
  fileprivate var databaseRules: DatabaseRules {
    var rules = DatabaseRules()
    rules.eventLogBytesMax = Int64(events.keptBytesMax)
    rules.auditEntriesMax = audit.entriesMax
    rules.startPauses = startPauses
    rules.names = limits.names
    rules.receipts = receiptRules
    return rules
  }
  #endif

  /// How receipts are made; nil if none are.
  private var receiptRules: ReceiptRules? {
    let evidence = NamePatterns(
      lanes.entries.map {
        NamePatterns<Bool>.Entry(pattern: $0.pattern, value: $0.value.isEvidence)
      })
    return receipts.map { receipts in
      var issuer = JSONWriter()
      issuer.string(receipts.issuer)
      return ReceiptRules(
        issuer: String(decoding: issuer.finish(), as: UTF8.self), evidence: evidence,
        hash: ReceiptDesk.hash)
    }
  }
}

extension LimitsConfiguration {
  /// The limits on the disk's use by the embedded store.
  fileprivate var disk: DiskLimits {
    DiskLimits(
      storeBytesMax: storeBytesMax.map(Int64.init), reserveBytes: diskReserveBytes.map(Int64.init),
      postBytesMax: Int64(max(bodyBytesMax, batchBytesMax)),
      logBytesMax: Int64(storeLogBytesMax))
  }
}

extension Log {
  /// Tells what the start waits for.
  ///
  /// - Parameter own: Where other relays reach this one; nil without a listener for relays: such a
  ///   relay has no port of its own until it has the store.
  fileprivate func tell(_ wait: StoreWait, reachedAt own: String?) {
    switch wait {
    case .another where own == nil:
      info("another relay has the store: this one waits as a spare, and does not listen")
    case .another(let address) where address == own:
      info(
        "the store is held under this relay's own address, and this one waits for it")
    case .another(let address):
      info(
        "another relay has the store: this one waits as a spare",
        ("passesOnTo", .text(address ?? "nobody")))
    // The next line tells what was found in it.
    case .opening: break
    case .unreachable(let error):
      warning(
        "the store cannot be reached: the start waits for it", ("error", .text(error.description)))
    case .refused(let error, let seconds):
      warning(
        "the store refuses this spare, which it did not before: the spare ends if that lasts",
        ("seconds", .integer(seconds)), ("error", .text(error.description)))
    }
  }
}

extension StoreError {
  fileprivate static func stopped(waitingFor subject: String) -> StoreError {
    StoreError(
      kind: .closed, operation: "open", subject: subject,
      detail: "the relay was stopped while it waited for the store")
  }
}
