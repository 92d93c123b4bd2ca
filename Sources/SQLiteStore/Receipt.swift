import RelayCore

/// What a transaction did, to be told once it has been committed.
struct Receipt {
  /// What became known and stands still.
  var startedPaused: [PauseTarget] = []
  /// What was accepted, or moved to the end of the line, in order.
  var accepted: [AcceptedEnvelope] = []
  /// What moved, by the number that it had: its place in ``accepted``.
  var moved: [Serial: Int] = [:]
  /// Results that say that an envelope is parked, until it is known whether it moved at once.
  var parked: [ParkedResult] = []
  /// What was put back in line, and is parked.
  var parkedAgain: Set<Serial> = []
  /// Who waits for which results. A position is a place in ``accepted`` until it is known.
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
    for (append, results) in appends {
      let placed = results.map { result -> AppendResult in
        guard case .accepted(let id, let state, let place) = result else { return result }
        return .accepted(id: id, state: state, position: positions[place])
      }
      append.resume(.success(placed))
    }
    for completion in completions { completion() }
    for failure in failures { failure.request.fail(failure.error) }
  }
}

/// A result that says that an envelope is parked.
struct ParkedResult {
  /// Which of ``Receipt/appends``.
  let append: Int
  /// Which of its results.
  let result: Int
  /// The envelope.
  let serial: Serial
  /// Its lane.
  let lane: LaneNumber
  /// Its number in the lane.
  let number: Int64
}

extension Transition {
  /// What was put back in line is parked there.
  mutating func noteParked() {
    guard case .requeue(var entry) = change else { return }
    entry.standing = .parked
    change = .requeue(entry)
  }
}
