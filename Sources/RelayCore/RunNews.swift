/// What a durable change says of one envelope, as far as a run goes by it.
package enum RunNews: Sendable, Equatable {
  /// It was delivered.
  case delivered
  /// It was taken back.
  case cancelled
  /// It was attempted and stands as it stood, or it ended or blocks its lane undelivered: how it
  /// stands now, and what went wrong, in words.
  case failed(EnvelopeState, String)
  /// Nothing holds it any more.
  case released
  /// It was corrected: whether it is held, and what its sender wishes now.
  case corrected(isHeld: Bool, notBefore: WallTime?)

  /// Why an envelope was not let go, in words.
  static let unwrittenReason = "the store is damaged where it stands, and nothing was changed"

  /// Nil if the change says nothing.
  package init?(_ transition: Transition) {
    guard !transition.isMoot else { return nil }
    switch transition.change {
    case .end(.delivered, _): self = .delivered
    case .end(.cancelled, _): self = .cancelled
    case .end(let state, let reason): self = .failed(state, reason)
    case .block(let reason): self = .failed(.blocked, reason)
    case .begin: return nil
    case .retry:
      guard let attempt = transition.attempt else {
        // Asked whether it had it, the upstream gave no clear answer, if that is what it was.
        guard let doubt = transition.doubt else { return nil }
        self = .failed(.queued, doubt)
        return
      }
      self = .failed(.queued, attempt.error ?? "the attempt showed nothing")
    case .release: self = .released
    case .edit(let edit):
      self = .corrected(isHeld: edit.entry.standing == .held, notBefore: edit.notBefore)
    case .requeue: return nil
    }
  }
}
