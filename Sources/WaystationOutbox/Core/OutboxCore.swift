import RelayCore
import SQLite

/// All that an outbox decides: what is stored, what goes next, what an answer means.
///
/// It is told what happens, and when. It changes the database, and lists in ``effects`` what is to
/// be done outside. The caller puts several calls into one transaction, commits it, and then takes
/// the effects. It has no clock, no random numbers, no threads and no sockets, so a test can let
/// thousands of devices live in a second.
///
/// One thread uses it at a time.
final class OutboxCore {
  let file: OutboxFile
  let settings: CoreSettings
  var state: CoreState
  /// What is to be done once the transaction is on the disk.
  private(set) var effects: [Effect] = []
  /// Does at once what need not wait for the transaction; nil if nobody does.
  var early: (([Effect]) -> Void)?
  /// A source of random numbers.
  let random: () -> UInt64

  private var saved: CoreState

  /// Takes up what the database holds.
  ///
  /// - Parameters:
  ///   - bootID: A word that is another one after each start of the device.
  ///   - incarnation: The device's name for itself outside of backups; a new one if it was missing.
  init(
    _ file: OutboxFile, _ settings: CoreSettings, bootID: String, incarnation: String,
    random: @escaping () -> UInt64
  ) throws(StoreError) {
    self.file = file
    self.settings = settings
    self.random = random
    state = CoreState(settings.sending)
    saved = state
    try self.file.begin()
    do throws(StoreError) {
      try takeUp(bootID: bootID, incarnation: incarnation)
      try writeChanges()
      try self.file.commit()
    } catch {
      self.file.rollBack()
      throw error
    }
    saved = state
  }

  private func takeUp(bootID: String, incarnation: String) throws(StoreError) {
    for lane in try file.lanes() {
      state.lanes[lane.number] = lane
      state.laneNumbers[lane.name] = lane.number
    }
    let next = try file.number(.nextItem) ?? 1
    guard next.isCount else {
      throw StoreError(
        kind: .corrupt, operation: "read", subject: "the next item's number",
        detail: "\(next) is none.")
    }
    state.nextItem = next
    // Nothing is written where nothing has changed: a full disk keeps nobody from opening.
    state.promisedItem = state.nextItem
    state.attention = try file.attentionCount()
    state.endings = try file.endingCount()
    state.isPaused = try file.number(.isPaused) == 1
    state.since = try file.text(.since)
    state.boot = try file.number(.boot) ?? 0
    if try file.text(.bootID) != bootID {
      state.boot += 1
      try file.set(.boot, state.boot)
      try file.set(.bootID, bootID)
    }
    try takeUpReceipts()
    try takeUpProofs()
    try takeUpSignatures()
    try takeUpIncarnation(incarnation)
    state.signing.restoredBelow = try file.number(.restoredBelow) ?? 0
    try takeUpDeaths()
  }

  /// A device that was restored from a backup, or cloned, does not know how far it had come.
  private func takeUpIncarnation(_ incarnation: String) throws(StoreError) {
    let known = try file.text(.incarnation)
    if let known, known != incarnation {
      try file.set(.mustRejoin, 1)
      // Ends that were told since the backup are not told again.
      try file.set(.mustInquire, 1)
      // What was signed after the backup is not known here.
      try file.set(.restoredBelow, state.nextItem)
      for lane in state.lanes.keys { try beginSigningAnew(in: lane) }
    }
    if known != incarnation { try file.set(.incarnation, incarnation) }
    state.mustRejoin = try file.number(.mustRejoin) == 1 && settings.isRelay
    state.mustInquire = try file.number(.mustInquire) == 1 && settings.isRelay
    // The ends that are still to be told come first: they bring the upstream's answers along.
    if state.mustInquire { state.asksForEnds = true }
  }

  // MARK: - Transactions

  /// Begins a transaction.
  func begin() throws(StoreError) {
    saved = state
    effects = []
    try file.begin()
  }

  /// Ends a transaction: it is on the disk when this returns.
  ///
  /// - Returns: What is to be done now.
  func commit() throws(StoreError) -> [Effect] {
    try writeChanges()
    try file.commit()
    saved = state
    // A file must not go before the row that names it has gone for good.
    let removes = effects.contains { if case .removeFile = $0 { true } else { false } }
    if removes, settings.durability == .ordered { file.connection.checkpoint() }
    defer { effects = [] }
    return effects
  }

  /// Takes a transaction back, with all that was decided in it.
  func rollBack() {
    file.rollBack()
    restore(saved)
    effects = []
  }

  /// A number of a request is not given twice: it may have been sent early, and be answered.
  private func restore(_ before: CoreState) {
    let next = state.nextExchange
    state = before
    state.nextExchange = max(next, before.nextExchange)
  }

  /// Takes back what was decided since a copy of the state was made, and no more.
  func takeBack(to before: (state: CoreState, effects: Int)) {
    restore(before.state)
    effects.removeSubrange(before.effects...)
  }

  private func writeChanges() throws(StoreError) {
    for number in state.changedLanes.sorted() {
      if let lane = state.lanes[number] { try file.write(lane) }
    }
    state.changedLanes = []
    if state.nextItem > state.promisedItem {
      try promiseItems(below: state.nextItem + CoreLimits.itemsPromised)
    }
  }

  /// Has the transaction write, whatever else it does.
  func writeAnything() throws(StoreError) { try promiseItems(below: state.promisedItem) }

  /// Whether numbers are promised that no item has got.
  var hasPromise: Bool { state.promisedItem != state.nextItem }

  /// Gives the numbers back that no item has got.
  func endPromise() throws(StoreError) {
    if hasPromise { try promiseItems(below: state.nextItem) }
  }

  private func promiseItems(below number: Int64) throws(StoreError) {
    state.promisedItem = number
    try file.set(.nextItem, number)
  }

  /// Has something done after the commit.
  func want(_ effect: Effect) { effects.append(effect) }

  /// Has something done before the commit, by whoever can; else after it.
  ///
  /// All that it rests on is on the disk already.
  func wantEarly(_ effects: [Effect]) {
    if let early { early(effects) } else { self.effects += effects }
  }

  /// Tells whoever listens, after the commit.
  func tell(_ event: Event) { effects.append(.tell(event)) }

  // MARK: - Lanes

  /// The lane of this name, which may be new.
  func lane(named name: String) -> KeptLane {
    if let number = state.laneNumbers[name], let lane = state.lanes[number] { return lane }
    let number = LaneNumber(raw: (state.lanes.keys.map(\.raw).max() ?? 0) + 1)
    let lane = KeptLane(number: number, name: name)
    state.lanes[number] = lane
    state.laneNumbers[name] = number
    state.changedLanes.insert(number)
    return lane
  }

  /// The name of a lane.
  func name(of lane: LaneNumber) -> String { state.lanes[lane]?.name ?? "" }

  /// How a lane behaves.
  func settings(of lane: LaneNumber) -> LaneSettings { settings.lane(name(of: lane)) }

  /// What becomes of an item's lane if it is refused.
  func onRefusal(of item: KeptItem) -> OnRefusal {
    item.onRefusal ?? settings(of: item.lane).onRefusal
  }

  /// Changes what is kept of a lane.
  func change(_ lane: LaneNumber, _ change: (inout KeptLane) -> Void) {
    guard var kept = state.lanes[lane] else { return }
    change(&kept)
    state.lanes[lane] = kept
    state.changedLanes.insert(lane)
  }
}
