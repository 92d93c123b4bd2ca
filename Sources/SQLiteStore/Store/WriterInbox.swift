import EventLoop
import RelayCore

/// Envelopes that someone waits to see stored.
struct PendingAppend: Sendable {
  /// The envelopes.
  let drafts: [EnvelopeDraft]
  /// Whether one that cannot be taken keeps all the others out.
  let isAtomic: Bool
  /// Tells the one who waits.
  let resume: @Sendable (Result<[AppendResult], StoreError>) -> Void

  /// The rough number of bytes that it will write.
  var byteCount: Int {
    drafts.reduce(0) { total, draft in
      guard case .inline(let body) = draft.content.body else { return total }
      return total + body.count + draft.content.headers.bytes.count
    }
  }
}

/// Other work for the writer's transaction.
struct WriteTask: Sendable {
  /// Does it, and gives back what is to be called once it has been committed: with an error if
  /// that is not to be relied on.
  let apply: @Sendable (Writer) throws(StoreError) -> @Sendable (StoreError?) -> Void
  /// Called instead if it could not be done.
  let fail: @Sendable (StoreError) -> Void
}

/// A request that someone waits for the writer to do.
enum WriteRequest: Sendable {
  case append(PendingAppend)
  case task(WriteTask)

  /// Tells the one who waits that nothing was written.
  func fail(_ error: StoreError) {
    switch self {
    case .append(let append): append.resume(.failure(error))
    case .task(let task): task.fail(error)
    }
  }
}

/// The requests handed to the writer and not yet taken.
///
/// Transitions stand apart, since they are kept when a transaction fails. That changes no order
/// which matters: they speak of envelopes that have been committed, never of ones that wait here.
struct WriterInbox: Sendable {
  /// In order of arrival.
  var requests: [WriteRequest] = []
  /// In order of arrival.
  var transitions: [Transition] = []
  /// Whether the store is closing: nothing more comes in.
  var isClosing = false
  /// The number of pages that the log had at the start of a pass that has ended; nil if none has.
  var pagesPassed: Int64?
  /// Whether a body found no room on the disk.
  var isRoomInDoubt = false

  /// Whether there is nothing to be taken.
  var isEmpty: Bool {
    requests.isEmpty && transitions.isEmpty && pagesPassed == nil && !isRoomInDoubt
  }
}
