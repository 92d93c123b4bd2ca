import RelayCore

/// The settings of a store that can be changed while it is open.
package struct StoreRules: Sendable, Equatable {
  /// The limits on the disk.
  package var disk = DiskLimits()
  /// The bytes of events that are kept; the log may be larger by a sixteenth before its oldest rows
  /// are deleted.
  package var eventLogBytesMax: Int64
  /// The number of acts that the audit log keeps, at least 1; older ones are deleted.
  package var auditEntriesMax = 100_000
  /// The upstreams, clients and lanes that start paused.
  package var startPauses = StartPauses()
  /// The limits on known names.
  package var names = NameLimits()

  /// Sets no limits but the disk's and the store's own, and no start pauses.
  package init() { eventLogBytesMax = StoreTuning.eventLogBytesMax }
}
