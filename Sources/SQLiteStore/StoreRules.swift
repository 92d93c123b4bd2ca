import RelayCore

/// What a store goes by that can be changed while it is open.
package struct StoreRules: Sendable, Equatable {
  /// How far it may fill the disk.
  package var disk = DiskLimits()
  /// How many bytes of events are kept; the log may be larger by a sixteenth before its oldest rows
  /// are forgotten.
  package var eventLogBytesMax: Int64
  /// How many acts the audit log keeps, at least 1; then the oldest go.
  package var auditEntriesMax = 100_000
  /// Who stands still from the moment when it is first known.
  package var startPauses = StartPauses()
  /// How many names may be known.
  package var names = NameLimits()

  /// No limits but the disk's and the store's own, and nobody who starts paused.
  package init() { eventLogBytesMax = StoreTuning.eventLogBytesMax }
}
