/// An event that listeners of `/v1/events` are told of although it is in no log: its name.
package enum StreamedEvent: String, CaseIterable, Sendable {
  /// The present state, as far as the filter goes.
  case snapshot
  /// Events between two places are not kept any more.
  case forgotten
  /// The progress of an attempt under way.
  case progress
}
