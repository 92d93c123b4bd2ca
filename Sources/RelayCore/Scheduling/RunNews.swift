/// A commit's effect on one envelope, as far as it matters to a run.
package enum RunNews: Sendable, Equatable {
  /// It was delivered.
  case delivered
  /// It was cancelled.
  case cancelled
  /// It was attempted in vain and waits again, or it ended or blocks its lane undelivered: its
  /// state now, and what went wrong, in words.
  case failed(EnvelopeState, String)
  /// It was released.
  case released
  /// It was corrected: whether it is held now, and its sender's earliest time.
  case corrected(isHeld: Bool, notBefore: WallTime?)

  /// The reason that an envelope was not released, in words.
  static let unwrittenReason = "the store is damaged where it stands, and nothing was changed"

  /// The news in a transition; nil if there is none.
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
        // The upstream was asked whether it has the envelope, and gave no clear answer.
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
