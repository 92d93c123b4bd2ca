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
  /// What waited before, and has got a later post's content.
  var coalesced: [CoalescedEnvelope] = []
  /// Whether a post has taken the place of anything, be it of this very transaction.
  private var hasCoalesced = false
  /// Backlogs that were cancelled as a whole.
  var cleared: [ClearedBacklog] = []
  /// Who waits for which results.
  ///
  /// A position is a place in ``accepted`` until it is known.
  var appends: [(append: PendingAppend, results: [AppendResult])] = []
  /// What to call for other work that was done.
  var completions: [@Sendable (StoreError?) -> Void] = []
  /// Changes that could not be made, since what they concern is damaged, by their place among the
  /// changes.
  var unwritten: Set<Int> = []
  /// Changes that came too late to change anything, by their place among the changes.
  var moot: Set<Int> = []
  /// By how much more or less waits of clients.
  var use: [ClientNumber: WaitingUse] = [:]
  /// Whether events were logged.
  var hasEvents = false
  /// Body files that nothing refers to any more.
  var deletedFiles: [String] = []
  /// Whether the store goes on without something that it did before.
  var goesOnWithoutMore = false
  /// Requests that could not be done, while their neighbours were.
  var failures: [(request: WriteRequest, error: StoreError)] = []

  /// Whether there were requests, and none of them could be done.
  var isRefused: Bool { !failures.isEmpty && appends.isEmpty && completions.isEmpty }

  /// One of the posts that could not be stored, if none could be.
  var refusedPost: PendingAppend? {
    guard appends.isEmpty else { return nil }
    for failure in failures {
      if case .append(let append) = failure.request { return append }
    }
    return nil
  }

  /// The names of clients of which something was accepted, each once or more often.
  var names: [(ClientNumber, String)] {
    accepted.compactMap { envelope in envelope.client.map { (envelope.entry.client, $0) } }
  }

  /// Whether there is anything to tell the observer of.
  var hasNews: Bool {
    !use.isEmpty || !accepted.isEmpty || !coalesced.isEmpty || !cleared.isEmpty
      || !startedPaused.isEmpty
  }

  /// Whether an envelope was accepted in this transaction.
  func hasAccepted(_ serial: Serial) -> Bool { place(ofAccepted: serial) != nil }

  /// The last ones are looked at first: what coalesces comes close together.
  private func place(ofAccepted serial: Serial) -> Int? {
    accepted.lastIndex { $0.entry.serial == serial }
  }

  /// Notes that a post has taken an envelope's place.
  ///
  /// One that nobody has been told of yet is told as it stands now.
  mutating func note(_ envelope: CoalescedEnvelope) {
    hasCoalesced = true
    let serial = envelope.entry.serial
    if let place = place(ofAccepted: serial) {
      accepted[place] = AcceptedEnvelope(
        entry: envelope.entry, id: envelope.id, draft: envelope.draft, revision: envelope.revision)
    } else if let place = coalesced.firstIndex(where: { $0.entry.serial == serial }) {
      var envelope = envelope
      envelope.formerUpstream = coalesced[place].formerUpstream
      envelope.keepsBackoff = coalesced[place].keepsBackoff && envelope.keepsBackoff
      coalesced[place] = envelope
    } else {
      coalesced.append(envelope)
    }
  }

  /// Notes the places of what was coalesced, as the observer has told them.
  func note(_ found: [Int?], in places: inout [Serial: Int]) {
    for (envelope, place) in zip(coalesced, found) { places[envelope.entry.serial] = place }
  }

  /// Tells everybody who waits; the observer has been told before.
  ///
  /// - Parameters:
  ///   - positions: Of what was accepted, in order.
  ///   - places: Of what was coalesced, as far as they are known.
  ///   - refusal: What they are told instead, if it is not to be relied on.
  func resume(positions: [Int], places: [Serial: Int], refusal: StoreError?) {
    defer {
      for completion in completions { completion(refusal) }
      for failure in failures { failure.request.fail(failure.error) }
    }
    if let refusal {
      for (append, _) in appends { append.resume(.failure(refusal)) }
      return
    }
    var places = places
    if hasCoalesced {
      for (envelope, place) in zip(accepted, positions) { places[envelope.entry.serial] = place }
    }
    for (append, results) in appends {
      let placed = results.map { result -> AppendResult in
        switch result {
        case .accepted(let id, let state, let place):
          return .accepted(id: id, state: state, position: positions[place])
        case .coalesced(let id, let state, _):
          return .coalesced(id: id, state: state, position: places[id.serial])
        default: return result
        }
      }
      append.resume(.success(placed))
    }
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
