import RelayCore

// Numbers that the relay does not take, since others have used them, or it waits for them no more.
extension OutboxCore {
  /// How many items of a lane may go in one post.
  ///
  /// In a lane of which the relay has taken no number since the outbox was opened, one item goes by
  /// itself first: it may turn out that its number is not to be had, and what had gone behind it
  /// would come before it.
  func itemsMax(of lane: KeptLane, share: Int) -> Int {
    let isNumbered = settings.lane(lane.name).order == .strict
    return isNumbered && !state.confirmedLanes.contains(lane.number) ? 1 : share
  }

  /// The relay has taken an item under its number: those that follow on it are to be had as well.
  func confirmNumber(of item: KeptItem) { confirm(item.sequence, in: item.lane) }

  /// The same of an item that has ended by now.
  func confirmNumber(of ending: KeptEnding) { confirm(ending.sequence, in: ending.lane) }

  private func confirm(_ sequence: UInt64?, in lane: LaneNumber) {
    if sequence != nil { state.confirmedLanes.insert(lane) }
    state.renumberings = 0
  }

  /// Gives new numbers to an item that was refused because of its number, and to all behind it.
  ///
  /// - Parameter problem: What the relay says; it may name the number above which it takes others.
  func renumber(_ item: KeptItem, _ problem: RelayProblem) throws(StoreError) {
    state.confirmedLanes.remove(item.lane)
    state.renumberings += 1
    if let last = problem.lastSequence, let next = state.lanes[item.lane]?.next, last >= next {
      change(item.lane) { $0.next = last + 1 }
      try endChain(of: item.lane)
      try beginSigningAnew(in: item.lane)
    }
    if let sequence = item.sequence { try file.deleteDigest(item.lane, sequence) }
    try takeNumber(from: item)
    try renumberLine(behind: item, passedThrough: problem.lastSequence ?? 0)
    guard problem.name == "sequence-conflict" else { return }
    // Others have used a number of this device's, be it the next one alone.
    try endChain(of: item.lane)
    try beginSigningAnew(in: item.lane)
    state.conflictedLanes.insert(item.lane)
    state.mustRejoin = true
    try file.set(.mustRejoin, 1)
  }

  /// Whether a number can be that of an item which the relay has: it gives out none of those up to
  /// it any more, and what was to go under it gets another one.
  func isToBeHad(_ number: UInt64, in lane: LaneNumber) throws(StoreError) -> Bool {
    guard number > 0, Int64(clamping: number).isCount else { return false }
    if let other = try file.item(lane, sequence: number) {
      guard !other.isHanded else { return false }
      state.confirmedLanes.remove(lane)
      try file.deleteDigest(lane, number)
      try takeNumber(from: other)
      try renumberLine(behind: other, passedThrough: number)
    }
    if let next = state.lanes[lane]?.next, number >= next {
      change(lane) { $0.next = number + 1 }
      try endChain(of: lane)
      try beginSigningAnew(in: lane)
    }
    return true
  }

  /// What stands behind an item stays behind it.
  private func renumberLine(
    behind item: KeptItem, passedThrough last: UInt64
  ) throws(StoreError) {
    guard settings(of: item.lane).order == .strict else { return }
    var after = item.id
    while true {
      let line = try file.line(
        of: item.lane, after: after, countMax: CoreLimits.lookedAtPerLane)
      guard let end = line.last else { return }
      after = end.id
      for behind in line {
        guard let sequence = behind.sequence else { continue }
        if sequence > last { try declareVoid(behind) }
        try file.deleteDigest(behind.lane, sequence)
        try takeNumber(from: behind)
      }
    }
  }

  /// Whether the relay may have an item that waits for another number.
  ///
  /// It was sent under a former one, and the answer may have been lost. Its key tells once it is
  /// sent again; until then it can be neither changed nor taken back.
  func mayBeAtRelay(_ item: KeptItem) -> Bool {
    settings.isRelay && item.state == .waiting && item.attempts > 0 && item.sequence == nil
      && settings(of: item.lane).order == .strict
  }

  /// Takes the numbers of an item and of all behind it: they get others.
  func giveUpNumber(of item: KeptItem) throws(StoreError) {
    try declareVoid(item)
    if let sequence = item.sequence { try file.deleteDigest(item.lane, sequence) }
    try takeNumber(from: item)
    try renumberLine(behind: item, passedThrough: 0)
  }

  private func takeNumber(from item: KeptItem) throws(StoreError) {
    try giveUpStatement(of: item)
    var free = item
    free.sequence = nil
    free.upload = nil
    state.uploadOffsets[item.id] = nil
    if item.state == .sealed { free.state = .waiting }
    try file.update(free)
  }
}
