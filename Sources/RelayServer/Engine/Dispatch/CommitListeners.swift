import RelayCore

/// The listeners to commits, by phase.
struct CommitListeners: Sendable {
  /// Told before the scheduler: what must be seen before its consequences, such as a line before
  /// that of the attempt which follows, or room that is used before its claim ends.
  let beforeScheduling: [any CommitListener]
  /// Told once the scheduler knows and those who have posted are awake.
  let afterScheduling: [any CommitListener]
}
