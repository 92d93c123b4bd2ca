// The store may replace a waiting envelope's content while this scheduler goes on deciding. Such an
// envelope is reserved first, so that no attempt of it begins; its lane loses no turn by that.
extension Scheduler {
  /// Reserves a waiting envelope whose content the store is about to replace.
  ///
  /// From now on no attempt of it begins, until ``coalesced(_:now:)`` or ``released(_:in:now:)``
  /// reports the result.
  ///
  /// - Returns: Whether it may be replaced: false if an attempt is running, a change is on its way
  ///   to the disk, or the envelope no longer waits.
  package mutating func reserve(_ serial: Serial, in number: LaneNumber) -> Bool {
    guard inFlight[serial] == nil, changing[serial] == nil, let lane = lanes[number]
    else { return false }
    if lane.head?.serial == serial {
      guard lane.phase != .recording else { return false }
    } else {
      guard lane.mayHold(serial) else { return false }
    }
    // If it may have arrived as it is, the upstream has to be asked first.
    if let place = lane.place(of: serial), lane.window[place].isInDoubt { return false }
    reserved.insert(serial)
    return true
  }

  /// Whether the store is about to replace it, or to cancel it with everything else of its client.
  func isReserved(_ entry: LineEntry) -> Bool {
    reserved.contains(entry.serial) || (!clearing.isEmpty && clearing.contains(entry.client))
  }

  /// Holds back a lane whose head could be attempted if it were not reserved.
  ///
  /// - Parameter hasTurn: Whether there is a slot for it.
  mutating func standStill(_ number: LaneNumber, hasTurn: Bool) {
    setPhase(of: number, .recording)
    heldBack[number] = hasTurn
  }

  /// Releases a reserved envelope that was not replaced: it is unchanged.
  package mutating func released(_ serial: Serial, in number: LaneNumber, now: Now) {
    reserved.remove(serial)
    resumeLane(number, now: now)
  }

  /// Lets a lane that was held back continue, with its turn if it had one.
  mutating func resumeLane(_ number: LaneNumber, now: Now) {
    noteHeadChange(of: number)
    guard let hasTurn = heldBack.removeValue(forKey: number) else { return }
    // An envelope may have been requeued before the head, which is not under way any more.
    putHeadInOrder(of: number)
    settleHead(of: number, now: now, hasTurn: hasTurn)
  }

  /// Applies a committed replacement of a waiting envelope's content.
  ///
  /// - Returns: Its position in its lane, from 1; nil if it is too far back to be known without
  ///   reading the line.
  package mutating func coalesced(_ envelope: CoalescedEnvelope, now: Now) -> Int? {
    var entry = envelope.entry
    let number = entry.lane
    reserved.remove(entry.serial)
    unwritableEnds.remove(entry.serial)
    batches.forget(entry.serial)
    guard decides(for: entry.client) else { return nil }
    if lanes[number]?.unwritable == entry.serial { lanes[number]?.unwritable = nil }
    noteHeadChange(of: number)
    recount(from: envelope.formerUpstream, to: entry)
    guard let place = lanes[number]?.place(of: entry.serial), let old = lanes[number]?.window[place]
    else {
      leaveToNextSweep(number)
      resumeLane(number, now: now)
      return nil
    }
    if envelope.keepsBackoff {
      // The upstream's return may have shortened the stored wait since.
      entry.dueAt = [old.dueAt, envelope.draft.notBefore].compactMap { $0 }.max()
    }
    lanes[number]?.window[place] = entry
    if place == 0 {
      replacedHead(old, by: entry, now: now)
    } else {
      resumeLane(number, now: now)
    }
    return place + 1
  }

  private mutating func replacedHead(_ old: LineEntry, by entry: LineEntry, now: Now) {
    let number = entry.lane
    if old.upstream != entry.upstream, lanes[number]?.order == .strict {
      upstreams[old.upstream]?.connectionBackoff.remove(number)
      lanes[number]?.forgetFailures(at: old.upstream)
    }
    let hasTurn = heldBack.removeValue(forKey: number)
    let waitsAsBefore =
      old.upstream == entry.upstream && old.standing == entry.standing && old.dueAt == entry.dueAt
    guard hasTurn == nil, waitsAsBefore, lanes[number]?.phase != .unwritable else {
      blocked.remove(number)
      if hasTurn != nil { putHeadInOrder(of: number) }
      settleHead(of: number, now: now, isNews: true, hasTurn: hasTurn ?? false)
      return
    }
    // It keeps its place among the lanes that wait for a slot, but still hastens the upstream.
    if lanes[number]?.phase == .ready { hasten(entry.upstream, for: number, now: now) }
  }
}
