import RelayCore

/// Somebody wants to know how far attempts have come.
struct ProgressQuestion: Sendable {
  /// Whose; nil for all that are under way.
  let serials: Set<Serial>?
  /// Takes the answer, on the forwarder's thread; called once.
  let answer: @Sendable ([AttemptProgress]) -> Void
}
