import RelayCore

/// A question for the progress of attempts.
struct ProgressQuery: Sendable {
  /// The envelopes; nil for all running attempts.
  let serials: Set<Serial>?
  /// Receives the answer on the forwarder's thread; called once.
  let answer: @Sendable ([AttemptProgress]) -> Void
}
