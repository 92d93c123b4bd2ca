#if PostgreSQL
import RelayCore

/// The settings of a store on PostgreSQL that can be changed while it is open.
package struct DatabaseRules: Sendable, Equatable {
  /// The upstreams, clients and lanes that start paused.
  package var startPauses = StartPauses()
  /// The limits on known names.
  package var names = NameLimits()
  /// The number of operators' acts that are kept.
  package var auditEntriesMax = 100_000
  /// The bytes of events that are kept; the log may be larger by a sixteenth before its oldest rows
  /// are deleted.
  package var eventLogBytesMax: Int64 = 64 << 20

  /// How receipts are made; nil if none are.
  package var receipts: ReceiptRules?

  /// Sets no limits but the store's own, and no start pauses.
  package init() {}
}
#endif
