import EventLoop
import RelayCore
import SQLite
import Synchronization

extension SQLiteStore {
  /// See ``EnvelopeStore``.
  package func start(observer: any StoreObserver) {
    shared.observer.withLock { current in
      precondition(current == nil, "a store is started once")
      current = observer
    }
  }

  /// See ``EnvelopeStore``.
  package func register(
    upstreams names: [String]
  ) async throws(StoreError) -> [String: UpstreamNumber] {
    try await write("register upstreams") { writer throws(StoreError) in
      var numbers: [String: UpstreamNumber] = [:]
      for name in names { numbers[name] = try writer.registerUpstream(name) }
      return numbers
    }
  }

  /// See ``EnvelopeStore``.
  package func append(
    _ drafts: [EnvelopeDraft], isAtomic: Bool
  ) async throws(StoreError) -> [AppendResult] {
    let result: Result<[AppendResult], StoreError> = await withUnsafeContinuation { continuation in
      let append = PendingAppend(drafts: drafts, isAtomic: isAtomic) { result in
        continuation.resume(returning: result)
      }
      submit(.append(append), operation: "append")
    }
    let results = try result.get()
    // What was claimed for an upload counts as a body by now.
    shared.room.uploads.release(
      drafts.compactMap { draft in
        guard case .file(let file) = draft.content.body else { return nil }
        return BodyFiles.name(of: file)
      })
    return results
  }

  /// See ``EnvelopeStore``.
  package func record(_ transitions: [Transition]) {
    // After close() the store's state stands; these envelopes still wait, and are sent again.
    shared.inbox.update { inbox in
      if !inbox.isClosing { inbox.transitions.append(contentsOf: transitions) }
    }
  }

  /// See ``EnvelopeStore``.
  package func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int
  ) async throws(StoreError) -> RetentionPage {
    try await writeAndDelete("delete what ended") { writer, files throws(StoreError) in
      try writer.deleteEnded(retention, countMax: countMax, into: &files)
    }
  }

  /// Implements `EnvelopeStore.correctEnded`.
  package func correctEnded(_ edit: EnvelopeEdit) async throws(StoreError) -> Bool {
    try await writeAndDelete("correct what has ended") { writer, files throws(StoreError) in
      try writer.correctEnded(edit, into: &files)
    }
  }

  /// Has the writer do something, and then deletes the body files that nothing refers to any more.
  func writeAndDelete<Value: Sendable>(
    _ operation: String,
    _ body: @escaping @Sendable (Writer, inout [String]) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let step = try await write(operation) { writer throws(StoreError) in
      var files: [String] = []
      let value = try body(writer, &files)
      return (value: value, files: files)
    }
    shared.bodies.delete(step.files)
    return step.value
  }

  /// Implements `EnvelopeStore.cancelEnded`.
  package func cancelEnded(
    _ entry: LineEntry, reason: String
  ) async throws(StoreError) -> Bool {
    try await write("cancel what has ended") { writer throws(StoreError) in
      try writer.cancelEnded(entry, reason: reason)
    }
  }

  /// See ``EnvelopeStore``.
  package func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) async throws(StoreError) -> GapSkip {
    let parked = try await read { reader throws(StoreError) in
      try reader.parked(in: lane, by: time, now: now)
    }
    guard let number = parked.number else {
      return GapSkip(skipped: [], waitingSince: parked.waitingSince)
    }
    let skipped = try await write("skip a gap") { writer throws(StoreError) in
      try writer.skipGaps(of: lane, below: number)
    }
    return GapSkip(skipped: skipped, waitingSince: parked.waitingSince)
  }

  /// See ``EnvelopeStore``.
  package func placeParked() async throws(StoreError) {
    try await write("place what was parked") { writer throws(StoreError) in
      try writer.resumeFlow()
    }
  }

  /// See ``EnvelopeStore``.
  package func setPaused(
    _ isPaused: Bool, _ name: PauseName, effect: @escaping @Sendable (PauseTarget) -> Void
  ) async throws(StoreError) -> QuotaRefusal? {
    let result = try await write("pause") { writer throws(StoreError) in
      try writer.setPaused(isPaused, name)
    } onCommit: { result in
      if case .success(let target) = result { effect(target) }
    }
    return if case .failure(let refusal) = result { refusal } else { nil }
  }

  /// See ``EnvelopeStore``.
  package func note(_ entry: EventEntry) async throws(StoreError) {
    try await write("log an event") { writer throws(StoreError) in
      writer.log(entry)
    }
  }

  /// See ``EnvelopeStore``.
  package func forgetEvents(
    before time: WallTime, countMax: Int
  ) async throws(StoreError) -> Bool {
    try await write("forget events") { writer throws(StoreError) in
      try writer.forgetEvents(before: time, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func forgetReceipts(
    _ retention: ReceiptRetention, countMax: Int
  ) async throws(StoreError) -> Bool {
    try await write("forget receipts") { writer throws(StoreError) in
      try writer.forgetReceipts(retention, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func beginBody() async throws(StoreError) -> any BodyWriter {
    try await BodyFileWriter.begin(in: shared.bodies)
  }

  /// See ``EnvelopeStore``.
  package func leases() -> [ShardLease] {
    (0..<Shard.count).map { ShardLease(shard: $0, epoch: Writer.epoch) }
  }

  /// See ``EnvelopeStore``.
  package func close() async {
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      shared.inbox.update { $0.isClosing = true }
      let isDone = closing.update { closing in
        if !closing.isDone { closing.waiters.append { continuation.resume() } }
        return closing.isDone
      }
      if isDone { continuation.resume() }
    }
  }

  /// Holds the database file to this many pages (`PRAGMA max_page_count`); nil for no limit.
  ///
  /// SQLite then says `SQLITE_FULL` by itself, just as it does on a full disk.
  package func limitPages(to countMax: Int64?) async throws(StoreError) {
    try await write("limit the file") { writer throws(StoreError) in
      try writer.connection.execute("PRAGMA max_page_count = \(countMax ?? 0xFFFF_FFFE)")
    }
  }

  /// The number of transactions committed since the store was opened.
  package var commitCount: Int64 { shared.figures.withLock { $0.commitCount } }

  /// Has the writer do something in its next transaction.
  ///
  /// - Parameter onCommit: Called on the writer's thread once that is on disk.
  @discardableResult
  func write<Value: Sendable>(
    _ operation: String, _ body: @escaping @Sendable (Writer) throws(StoreError) -> Value,
    onCommit: @escaping @Sendable (Value) -> Void = { _ in }
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withUnsafeContinuation { continuation in
      let task = WriteTask(
        apply: { writer throws(StoreError) in
          let value = try body(writer)
          return { refusal in
            onCommit(value)
            continuation.resume(returning: refusal.map { .failure($0) } ?? .success(value))
          }
        },
        fail: { error in continuation.resume(returning: .failure(error)) })
      submit(.task(task), operation: operation)
    }
    return try result.get()
  }

  private func submit(_ request: WriteRequest, operation: String) {
    let isTaken = shared.inbox.update { inbox in
      if inbox.isClosing { return false }
      inbox.requests.append(request)
      return true
    }
    if !isTaken { request.fail(.closed(operation: operation)) }
  }
}
