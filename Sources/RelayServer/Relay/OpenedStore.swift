import RelayCore
import SQLiteStore

/// The store that a relay runs on: the one place that knows which kinds there are.
struct OpenedStore: Sendable {
  /// The store of envelopes.
  let store: any EnvelopeStore
  /// The same, if it keeps them in files on this machine; else nil.
  let embedded: (any EmbeddedStore)?
  private let hold: @Sendable (Configuration) -> Void

  /// Opens the store that a configuration names.
  static func open(_ configuration: Configuration) throws(RelayStartError) -> OpenedStore {
    do throws(StoreError) {
      var options = SQLiteStore.Options()
      options.rules = configuration.storeRules
      options.setsAsideDamaged = configuration.setsAsideDamaged
      let store = try SQLiteStore.open(folder: configuration.data, options: options)
      return OpenedStore(store: store, embedded: store) { store.update(to: $0.storeRules) }
    } catch {
      throw RelayStartError(description: error.description)
    }
  }

  private init(
    store: any EnvelopeStore, embedded: (any EmbeddedStore)?,
    hold: @escaping @Sendable (Configuration) -> Void
  ) {
    self.store = store
    self.embedded = embedded
    self.hold = hold
  }

  /// Has it go by a configuration from the next transaction on.
  func update(to configuration: Configuration) { hold(configuration) }
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
    return rules
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
