import RelayCore

/// What a transaction did, to be told once it has been committed.
struct Receipt {
  /// What became known and stands still.
  var startedPaused: [PauseTarget] = []
  /// What was accepted, in order.
  var accepted: [AcceptedEnvelope] = []
  /// Who waits for which results, in the order of ``accepted``.
  var appends: [(append: PendingAppend, results: [AppendResult])] = []
  /// What to call for other work that was done.
  var completions: [@Sendable () -> Void] = []
  /// Changes that came too late to change anything, by their place among the changes.
  var moot: Set<Int> = []
  /// Whether events were logged.
  var hasEvents = false
  /// Body files that nothing refers to any more.
  var deletedFiles: [String] = []
  /// Requests that could not be done, while their neighbours were.
  var failures: [(request: WriteRequest, error: StoreError)] = []

  /// Tells everybody who waits; the observer has been told before.
  func resume(positions: [Int]) {
    var next = 0
    for (append, results) in appends {
      let placed = results.map { result -> AppendResult in
        guard case .accepted(let id, let state, _) = result else { return result }
        defer { next += 1 }
        return .accepted(id: id, state: state, position: positions[next])
      }
      append.resume(.success(placed))
    }
    for completion in completions { completion() }
    for failure in failures { failure.request.fail(failure.error) }
  }
}
