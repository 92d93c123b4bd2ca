import RelayCore

/// The effects of a transaction, told once it has been committed.
struct Receipt {
  /// The clients and upstreams that became known and start paused.
  var startedPaused: [PauseTarget] = []
  /// The envelopes accepted, or moved to the end of the line, in order.
  var accepted: [AcceptedEnvelope] = []
  /// The places in ``accepted`` of envelopes that moved, by their former numbers.
  var moved: [Serial: Int] = [:]
  /// Results that say that an envelope is parked, until it is known whether it moved at once.
  var parked: [ParkedResult] = []
  /// The envelopes that were put back in line and are parked.
  var parkedAgain: Set<Serial> = []
  /// The waiting envelopes that got a later post's content.
  var coalesced: [CoalescedEnvelope] = []
  /// Whether a post has taken the place of anything, be it of this very transaction.
  private var hasCoalesced = false
  /// The ends that are not on record any more as they were.
  var endsChanged: [EndChange] = []
  /// Backlogs that were cancelled as a whole.
  var cleared: [ClearedBacklog] = []
  /// The posts that wait for their results.
  ///
  /// A position is a place in ``accepted`` until it is known.
  var appends: [(append: PendingAppend, results: [AppendResult])] = []
  /// The closures to call for other work that was done.
  var completions: [@Sendable (StoreError?) -> Void] = []
  /// Changes that could not be made, since what they concern is damaged, by their place among the
  /// changes.
  var unwritten: Set<Int> = []
  /// Changes that came too late to change anything, by their place among the changes.
  var moot: Set<Int> = []
  /// By how much more or less waits of clients.
  var use: [ClientNumber: WaitingUse] = [:]
  /// The place behind the latest event; nil if none was logged.
  var eventsEnd: EventPosition?
  /// Whether clients were forgotten.
  var hasForgottenClients = false
  /// Body files that nothing refers to any more.
  var deletedFiles: [String] = []
  /// All damage, if the store goes on without something that it did before.
  var damage: StoreDamage?
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
      envelope.postCount += coalesced[place].postCount
      coalesced[place] = envelope
    } else {
      coalesced.append(envelope)
    }
  }

  /// The transaction's commit, to be told.
  ///
  /// - Parameter changes: The changes that it was to make.
  func commit(of changes: ArraySlice<Transition>, epoch: Int64) -> Commit {
    var commit = Commit()
    commit.startedPaused = startedPaused
    commit.use = use
    commit.damage = damage
    commit.eventsEnd = eventsEnd
    commit.hasForgottenClients = hasForgottenClients
    if !changes.isEmpty { tell(changes, epoch: epoch, in: &commit) }
    if !endsChanged.isEmpty { commit.changes.append(.endsChanged(endsChanged)) }
    if !coalesced.isEmpty { commit.changes.append(.coalesced(coalesced)) }
    if !accepted.isEmpty { commit.changes.append(.accepted(accepted)) }
    for backlog in cleared { commit.changes.append(.cleared(backlog)) }
    return commit
  }

  private func tell(_ changes: ArraySlice<Transition>, epoch: Int64, in commit: inout Commit) {
    var made = Array(changes)
    for index in moot { made[index].isMoot = true }
    if !parkedAgain.isEmpty {
      for index in made.indices where parkedAgain.contains(made[index].serial) {
        made[index].noteParked()
      }
    }
    let unwritten = unwritten.sorted().map { made[$0] }
    for index in self.unwritten.sorted(by: >) { made.remove(at: index) }
    made.removeAll { $0.epoch != epoch }
    if !made.isEmpty { commit.changes.append(.changed(made)) }
    if !unwritten.isEmpty { commit.changes.append(.unwritten(unwritten)) }
  }

  // MARK: - Those who wait

  /// Tells those who have posted what came of it, and where that stands.
  ///
  /// - Parameter refusal: What they are told instead, if it is not to be relied on.
  func answer(_ positions: CommitPositions, refusal: StoreError?) {
    if let refusal {
      for (append, _) in appends { append.resume(.failure(refusal)) }
      return
    }
    var places: [Serial: Int] = [:]
    if hasCoalesced {
      for (envelope, place) in zip(coalesced, positions.coalesced) {
        places[envelope.entry.serial] = place
      }
      for (envelope, place) in zip(accepted, positions.accepted) {
        places[envelope.entry.serial] = place
      }
    }
    for (append, results) in appends {
      let placed = results.map { result -> AppendResult in
        switch result {
        case .accepted(let id, let state, let place):
          return .accepted(id: id, state: state, position: positions.accepted[place])
        case .coalesced(let id, let state, _):
          return .coalesced(id: id, state: state, position: places[id.serial])
        default: return result
        }
      }
      append.resume(.success(placed))
    }
  }

  /// Tells everybody else who waits, once all has been told of the commit.
  func finish(refusal: StoreError?) {
    for completion in completions { completion(refusal) }
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
