// The store replaces what waits while this scheduler goes on deciding. What is about to be replaced
// is reserved first, so that no attempt of it begins; its lane loses no turn by that.
extension Scheduler {
  /// The store is about to put another content in a waiting envelope's place.
  ///
  /// From now on no attempt of it begins, until ``coalesced(_:now:)`` or ``released(_:in:now:)``
  /// says what came of it.
  ///
  /// - Returns: Whether it may: false if an attempt is under way, or a change is on its way to the
  ///   disk, or the envelope waits no longer.
  package mutating func reserve(_ serial: Serial, in number: LaneNumber) -> Bool {
    guard inFlight[serial] == nil, !changing.contains(serial), let lane = lanes[number]
    else { return false }
    if lane.head?.serial == serial {
      guard lane.phase != .recording else { return false }
    } else {
      guard lane.mayHold(serial) else { return false }
    }
    // What may have arrived as it is has to be asked for first.
    if let place = lane.place(of: serial), lane.window[place].isInDoubt { return false }
    reserved.insert(serial)
    return true
  }

  /// Whether the store is about to replace it, or to cancel it with all else of its client.
  func isReserved(_ entry: LineEntry) -> Bool {
    reserved.contains(entry.serial) || (!clearing.isEmpty && clearing.contains(entry.client))
  }

  /// The head of a lane could be attempted, were it not reserved.
  ///
  /// - Parameter hasTurn: Whether there is a slot for it.
  mutating func holdBack(_ number: LaneNumber, hasTurn: Bool) {
    lanes[number]?.phase = .recording
    heldBack[number] = hasTurn
  }

  /// Nothing came of what was reserved: the envelope stands as it stood.
  package mutating func released(_ serial: Serial, in number: LaneNumber, now: Now) {
    reserved.remove(serial)
    goOn(number, now: now)
  }

  /// Lets a lane go on that was held back, with its turn if it had one.
  mutating func goOn(_ number: LaneNumber, now: Now) {
    noteTurn(of: number)
    guard let hasTurn = heldBack.removeValue(forKey: number) else { return }
    // An earlier one may have been put back in line meanwhile: nothing of the head is under way.
    putHeadInOrder(of: number)
    settleHead(of: number, now: now, hasTurn: hasTurn)
  }

  /// A waiting envelope has got another content, and that is durable.
  ///
  /// - Returns: Its place in its lane, from 1; nil if it stands too far back to be known without
  ///   reading the line.
  package mutating func coalesced(_ envelope: CoalescedEnvelope, now: Now) -> Int? {
    var entry = envelope.entry
    let number = entry.lane
    reserved.remove(entry.serial)
    unwritableEnds.remove(entry.serial)
    if lanes[number]?.unwritable == entry.serial { lanes[number]?.unwritable = nil }
    noteTurn(of: number)
    recount(from: envelope.formerUpstream, to: entry.upstream)
    guard let place = lanes[number]?.place(of: entry.serial), let old = lanes[number]?.window[place]
    else {
      leaveToNextSweep(number)
      goOn(number, now: now)
      return nil
    }
    if envelope.keepsBackoff {
      // What the store has kept may have been cut short since, by the upstream's return.
      entry.dueAt = [old.dueAt, envelope.draft.notBefore].compactMap { $0 }.max()
    }
    lanes[number]?.window[place] = entry
    if place == 0 {
      replacedHead(old, by: entry, now: now)
    } else {
      goOn(number, now: now)
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
    // Its place among those that wait for a slot stays; and it is news all the same.
    if lanes[number]?.phase == .ready { hasten(entry.upstream, for: number, now: now) }
  }
}
