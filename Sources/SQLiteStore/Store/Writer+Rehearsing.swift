import EventLoop
import RelayCore

// A post that meets damage is refused alone, while its neighbours are written. So it says nothing
// of the others; but if it is every post that meets the damage, the store takes nothing any more,
// and is to say so. What any other post would meet is tried out, and undone.
extension Writer {
  /// Takes note of what a transaction says of posts.
  func notePosts(of receipt: Receipt) {
    if !receipt.appends.isEmpty {
      rehearsal = nil
      recovery.noteAccepting()
    } else if let draft = receipt.refusedPost?.drafts.first {
      // Whatever keeps them out is known, and is looked at again in its time.
      guard !recovery.isRefusing else { return }
      rehearsal = draft.asRehearsed()
      rehearse(at: MonotonicClock.now())
    }
  }

  /// Looks whether a post of somebody else could be stored, and notes what came of it.
  func rehearse(at now: MonotonicTime) {
    guard let rehearsal else { return recovery.noteAccepting() }
    let append = PendingAppend(drafts: [rehearsal], isAtomic: false, resume: { _ in })
    exceptions = Exceptions()
    while true {
      do throws(StoreError) {
        try tryOut(append)
        rollBack()
        self.rehearsal = nil
        return recovery.noteAccepting()
      } catch {
        rollBack()
        if goRound(error), exceptions.requests.isEmpty { continue }
        return recovery.noteRefusing(error, at: now)
      }
    }
  }

  private func tryOut(_ append: PendingAppend) throws(StoreError) {
    var receipt = Receipt()
    (exceptions.step, exceptions.request) = (nil, nil)
    try prepareSearchBlock()
    try begin()
    (exceptions.step, exceptions.request) = (.request(0), 0)
    _ = try apply(append, into: &receipt)
    (exceptions.step, exceptions.request) = (nil, nil)
    try seal()
  }
}

extension EnvelopeDraft {
  /// The same of a client that nobody knows, and without its body.
  fileprivate func asRehearsed() -> EnvelopeDraft {
    var draft = self
    // No sender's name has a space in it.
    draft.client = "a rehearsal"
    draft.content.body = .inline([])
    draft.references = false
    return draft
  }
}
