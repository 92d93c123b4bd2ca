#if PostgreSQL
import Postgres
import RelayCore

/// The rows that one transaction writes for its posts, put together from their plans.
///
/// Later plans of a transaction change what earlier ones have added: only what remains of it is
/// written, each table by one statement.
struct PostRows {
  struct Insert {
    var entry: LineEntry
    let id: EnvelopeID
    var draft: EnvelopeDraft
    var revision: Int64 = 0
  }

  /// A number in a lane.
  struct Place: Hashable {
    let lane: LaneNumber
    let number: Int64
  }

  struct Key: Hashable {
    let client: ClientNumber
    let key: String
  }

  struct Name: Hashable {
    let lane: LaneNumber
    let name: String
  }

  /// What a lane knows of its numbers.
  struct Numbers {
    var highest: Int64?
    /// The outer nil leaves it as it is.
    var placedThrough: Int64??
    /// Below this number, what is missing is given up.
    var skipsBelow: Int64?
  }

  private(set) var clients: [(number: ClientNumber, name: String)] = []
  private(set) var lanes: [(number: LaneNumber, client: ClientNumber, name: String)] = []
  var numbers: [LaneNumber: Numbers] = [:]
  /// Gaps by their first numbers, as they are from now on; nil for one that is gone.
  private(set) var gaps: [Place: SequenceGap?] = [:]
  var inserts: [Serial: Insert] = [:]
  private(set) var replaces: [Serial: ReplacePlan] = [:]
  private var replacingDrafts: [Serial: EnvelopeDraft] = [:]
  var sequences: [Place: Serial] = [:]
  private(set) var keys: [Key: (serial: Serial, fingerprint: [UInt8]?)] = [:]
  private(set) var names: [Name: Serial] = [:]
  private(set) var formerKeys: [(serial: Serial, revision: Int64, key: Key)] = []
  private(set) var forgottenKeys: [Serial: Int64] = [:]
  private(set) var paused: [PauseTarget] = []
  /// What was parked before and moves: from where to where, and whether it still waits.
  var moves: [(old: Serial, new: Serial, standing: Standing, waits: Bool)] = []
  /// What was parked by this very transaction and has moved.
  var movedInserts: [Serial: Serial] = [:]
  /// Numbers whose envelopes are gone.
  var emptied: [Place] = []
  /// What lanes' chains go on with, in order.
  private(set) var links: [ChainLink] = []
  /// The names of lanes that plans have told.
  private(set) var laneNames: [LaneNumber: LaneName] = [:]
  /// What is logged, in order.
  private(set) var events: [EventEntry] = []
  /// The shards of all that is written.
  private(set) var shards: Set<Int> = []

  var isEmpty: Bool { shards.isEmpty }
  /// The number of envelopes that are accepted, replaced or moved.
  var envelopeCount: Int { inserts.count + replaces.count + moves.count }

  mutating func note(shardOf client: String) { shards.insert(Shard.of(client: client)) }
  mutating func note(shard: Int) { shards.insert(shard) }
  mutating func log(_ event: EventEntry) { events.append(event) }

  mutating func pause(_ target: PauseTarget) {
    paused.append(target)
    log(EventEntry(isPaused: true, target))
  }

  mutating func put(key: Key, _ serial: Serial) { keys[key] = (serial, keys[key]?.fingerprint) }

  /// Has a lane's chain go on.
  mutating func link(_ lane: LaneNumber, _ step: ChainLink.Step) {
    links.append(ChainLink(lane: lane, step: step))
  }

  /// Has a client become known.
  mutating func add(client number: ClientNumber, _ name: String) {
    note(shardOf: name)
    clients.append((number, name))
  }

  /// Has a lane become known.
  mutating func add(lane number: LaneNumber, _ name: LaneName, of client: ClientNumber) {
    note(shardOf: name.client)
    lanes.append((number, client, name.lane))
  }

  // MARK: - Plans

  /// Takes a plan over.
  mutating func take(_ plan: PostPlan, of draft: EnvelopeDraft) {
    switch plan {
    case .answer: break
    case .insert(let plan): take(plan, of: plan.stored(draft))
    case .void(let plan):
      note(shardOf: draft.client)
      add(
        client: plan.isNewClient ? plan.lane.client : nil, lane: plan.isNewLane, plan.lane.number,
        of: plan.lane.client, draft)
      take(plan.numbering, in: plan.lane.number)
      let number = plan.numbering.number
      laneNames[plan.lane.number] = LaneName(client: draft.client, lane: draft.lane)
      if !plan.numbering.isParked {
        link(plan.lane.number, .pass(SequenceRange(first: number, last: number)))
      }
      log(EventEntry(.gapSkipped, lane: plan.lane.number, numbers: [number, number]))
    case .replace(let plan): take(plan, by: draft)
    }
  }

  private mutating func take(_ plan: InsertPlan, of draft: EnvelopeDraft) {
    let entry = plan.entry
    note(shardOf: draft.client)
    log(EventEntry(accepted: entry))
    add(
      client: plan.isNewClient ? entry.client : nil, lane: plan.isNewLane, entry.lane,
      of: entry.client, draft)
    if let numbering = plan.numbering {
      take(numbering, in: entry.lane)
      laneNames[entry.lane] = LaneName(client: draft.client, lane: draft.lane)
      if !numbering.isParked {
        let came = draft.knownDigest.map { LinkedEnvelope(serial: entry.serial, digest: $0) }
        link(entry.lane, .take(numbering.number, came))
      }
      sequences[Place(lane: entry.lane, number: numbering.number)] = entry.serial
    }
    inserts[entry.serial] = Insert(entry: entry, id: plan.id, draft: draft)
    if let key = draft.key { keys[Key(client: entry.client, key: key)] = (entry.serial, nil) }
    if let name = draft.coalesce { names[Name(lane: entry.lane, name: name)] = entry.serial }
  }

  private mutating func add(
    client: ClientNumber?, lane isNew: Bool, _ lane: LaneNumber, of owner: ClientNumber,
    _ draft: EnvelopeDraft
  ) {
    if let client { add(client: client, draft.client) }
    if isNew { add(lane: lane, LaneName(client: draft.client, lane: draft.lane), of: owner) }
  }

  private mutating func take(_ plan: NumberPlan, in lane: LaneNumber) {
    numbers[lane, default: Numbers()].highest = plan.highest
    if let placed = plan.placedThrough { numbers[lane]?.placedThrough = .some(placed) }
    if let closed = plan.closed { gaps[Place(lane: lane, number: closed.first)] = .some(nil) }
    for gap in [plan.lowerGap, plan.upperGap].compactMap(\.self) { put(SequenceGap(gap), lane) }
    if plan.isVoid {
      let range = SequenceRange(first: plan.number, last: plan.number)
      put(SequenceGap(range, isSkipped: true), lane)
    }
    if plan.skipsBelow { skip(below: plan.number, in: lane) }
  }

  private mutating func put(_ gap: SequenceGap, _ lane: LaneNumber) {
    gaps[Place(lane: lane, number: gap.range.first)] = .some(gap)
  }

  /// Gives up what is missing below a number.
  mutating func skip(below number: Int64, in lane: LaneNumber) {
    let former = numbers[lane, default: Numbers()].skipsBelow ?? 0
    numbers[lane, default: Numbers()].skipsBelow = max(former, number)
    for (place, gap) in gaps where place.lane == lane && place.number < number {
      guard var gap else { continue }
      gap.isSkipped = true
      gaps[place] = .some(gap)
    }
  }

  private mutating func take(_ plan: ReplacePlan, by draft: EnvelopeDraft) {
    let entry = plan.edit.entry
    let key = { (name: String) in Key(client: entry.client, key: name) }
    note(shardOf: draft.client)
    log(EventEntry(coalesced: entry))
    if let former = plan.former.key {
      keys[key(former)] = (entry.serial, plan.former.fingerprint)
      formerKeys.append((entry.serial, plan.former.revision, key(former)))
    }
    if let new = draft.key { keys[key(new)] = (entry.serial, nil) }
    if let through = plan.forgottenKeys { forgottenKeys[entry.serial] = through }
    guard var insert = inserts[entry.serial] else {
      replaces[entry.serial] = plan
      replacingDrafts[entry.serial] = draft
      return
    }
    insert.entry = entry
    insert.draft = draft
    insert.revision = plan.revision
    inserts[entry.serial] = insert
  }

  /// The post that replaces an envelope's content.
  func draft(replacing serial: Serial) -> EnvelopeDraft? { replacingDrafts[serial] }
}
#endif
