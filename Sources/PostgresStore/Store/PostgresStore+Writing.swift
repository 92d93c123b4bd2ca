#if PostgreSQL
import EventLoop
import RelayCore

// Calls that are carried out by the writer.
extension PostgresStore {
  /// See ``EnvelopeStore``.
  package func append(
    _ drafts: [EnvelopeDraft], isAtomic: Bool
  ) async throws(StoreError) -> [AppendResult] {
    let result = await withUnsafeContinuation { continuation in
      hand(
        .append(
          AppendRequest(drafts: drafts, isAtomic: isAtomic) { continuation.resume(returning: $0) }))
    }
    return try result.get()
  }

  /// See ``EnvelopeStore``.
  package func record(_ transitions: [Transition]) {
    shared.inbox.update { $0.transitions += transitions }
  }

  /// See ``EnvelopeStore``.
  package func correctEnded(_ edit: EnvelopeEdit) async throws(StoreError) -> Bool {
    try await write { writer throws(StoreError) in try writer.correctEnded(edit) }
  }

  /// See ``EnvelopeStore``.
  package func cancelEnded(_ entry: LineEntry, reason: String) async throws(StoreError) -> Bool {
    try await write { writer throws(StoreError) in
      try writer.cancelEnded(entry, reason: reason)
    }
  }

  /// See ``EnvelopeStore``.
  package func cancelAll(
    of selection: BacklogSelection, through serial: Serial?, reason: String
  ) async throws(StoreError) -> ClearingReport {
    try await write { writer throws(StoreError) in
      try writer.cancelAll(of: selection, through: serial, reason: reason)
    }
  }

  /// See ``EnvelopeStore``.
  package func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) async throws(StoreError) -> GapSkip {
    try await write { writer throws(StoreError) in
      let skip = try writer.skipGaps(of: lane, parkedBy: time, now: now)
      if !skip.skipped.isEmpty { try writer.flowOn() }
      return skip
    }
  }

  /// See ``EnvelopeStore``.
  package func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int
  ) async throws(StoreError) -> RetentionPage {
    try await write { writer throws(StoreError) in
      try writer.deleteEnded(retention, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func register(
    upstreams names: [String]
  ) async throws(StoreError) -> [String: UpstreamNumber] {
    try await write { writer throws(StoreError) in
      try writer.shared.asking { () throws(StoreError) in
        try writer.register(upstreams: names, pauses: true)
      }
    }
  }

  /// See ``EnvelopeStore``.
  @discardableResult
  package func setPaused(
    _ isPaused: Bool, _ name: PauseName, effect: @escaping @Sendable (PauseTarget) -> Void
  ) async throws(StoreError) -> QuotaRefusal? {
    try await write { writer throws(StoreError) in
      switch try writer.setPaused(isPaused, name) {
      case .success(let target):
        effect(target)
        return nil
      case .failure(let refusal): return refusal
      }
    }
  }

  /// Has the writer do something.
  func write<Value: Sendable>(
    _ body: @escaping @Sendable (DatabaseWriter) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withUnsafeContinuation { continuation in
      hand(
        .task(
          DatabaseTask(
            run: { writer in
              let result = Result { () throws(StoreError) -> Value in try body(writer) }
              continuation.resume(returning: result)
            },
            fail: { continuation.resume(returning: .failure($0)) })))
    }
    return try result.get()
  }

  private func hand(_ request: DatabaseRequest) {
    let isTaken = shared.inbox.update { inbox in
      guard !inbox.isClosing else { return false }
      inbox.requests.append(request)
      return true
    }
    if !isTaken { request.fail(.closed(operation: "write to")) }
  }
}
#endif
