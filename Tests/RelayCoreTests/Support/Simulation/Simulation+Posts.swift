import RelayCore
import Synchronization

@testable import StoreModel

// Devices post, one thing at a time or several together. Between the question which envelopes may
// be replaced and the commit, or its failure, anything else may happen.
extension Simulation {
  /// What a device posts together.
  struct Posts: Sendable {
    var device: Int
    var keys: [Int]
    var drafts: [EnvelopeDraft]
    /// Whether one that cannot be taken keeps all others out.
    var isAtomic: Bool
  }

  /// The envelopes that a plan would replace.
  private final class Wishes: Sendable {
    private let lanes = Mutex<[Serial: LaneNumber]>([:])

    var all: [(serial: Serial, lane: LaneNumber)] {
      lanes.withLock { $0.map { (serial: $0.key, lane: $0.value) } }
        .sorted { $0.serial < $1.serial }
    }

    func note(_ serial: Serial, _ lane: LaneNumber) { lanes.withLock { $0[serial] = lane } }
  }

  mutating func post(_ index: Int) {
    guard !isFaultFree else { return }
    var keys = [key(of: index)]
    // Most posts stand alone.
    while keys.count < 4, chance(1, in: 8) { keys.append(key(of: index)) }
    let isLost = devices[index].numbers[keys[0]] != nil && chance(1, in: 6)
    if !isLost {
      let drafts = keys.map { draft(of: $0, index) }
      let isAtomic = keys.count > 1 && chance(1, in: 2)
      if keys.count > 1 { batchCount += 1 }
      let posts = Posts(device: index, keys: keys, drafts: drafts, isAtomic: isAtomic)
      agenda.insert(Scheduled(life: life, event: .append(posts)), at: commitTime())
    }
    let isFlood = index == 0
    schedule(.post(device: index), inMs: isFlood ? 60 : Int64.random(in: 50...2000, using: &random))
  }

  /// The key of a post: one that was not answered, now and then.
  private mutating func key(of index: Int) -> Int {
    if let unanswered = devices[index].unanswered.randomElement(using: &random), chance(1, in: 3) {
      declareVoid(unanswered, of: index)
      return unanswered
    }
    let key = devices[index].nextKey
    devices[index].nextKey += 1
    devices[index].unanswered.append(key)
    number(key, of: index)
    return key
  }

  /// Some numbers are given up by their device, which may not know that they have come.
  private mutating func declareVoid(_ key: Int, of index: Int) {
    guard devices[index].numbers[key] != nil, chance(1, in: 6) else { return }
    devices[index].voided.insert(key)
  }

  /// What some posts are tagged with.
  static let tag = "t"

  private static func content(of key: Int, _ device: Int) -> Int { device * 1_000_003 + key }

  private static func lane(of content: Int, _ device: Int) -> Int {
    device * 2 + (content % 3 == 0 ? 1 : 0)
  }

  /// Every fourth device numbers what it posts, lane by lane.
  ///
  /// A lane of the newest takes no numbers.
  private mutating func number(_ key: Int, of index: Int) {
    let lane = Self.lane(of: Self.content(of: key, index), index)
    guard index % 4 == 1, Self.order(ofLane: lane) == .strict else { return }
    let number = (devices[index].lastNumber[lane] ?? 0) + 1
    devices[index].lastNumber[lane] = number
    devices[index].numbers[key] = number
  }

  private func draft(of key: Int, _ index: Int) -> EnvelopeDraft {
    let content = Self.content(of: key, index)
    let lane = Self.lane(of: content, index)
    let isShortLived = content % 11 == 0
    let number = devices[index].numbers[key]
    let hasName = index % 3 == 1 && content % 4 != 0 && number == nil
    var draft = EnvelopeDraft(
      client: "\(index)", lane: "\(lane)", upstream: Self.upstreamName(lane % Self.upstreamCount),
      content: Self.content(content), key: "\(key)", fingerprint: Self.bytes(of: content),
      sequence: number, tag: content % 5 == 0 ? Self.tag : nil, hold: content % 41 == 0,
      notBefore: content % 29 == 0 ? clock.wall.adding(milliseconds: 1500) : nil,
      expiresAt: clock.wall.adding(milliseconds: isShortLived ? 5_000 : 604_800_000),
      onFailure: index % 8 == 7 ? .block : .skip, references: false,
      coalesce: hasName ? "\(content % 2)" : nil, isVoid: devices[index].voided.contains(key),
      isInOrder: false)
    if draft.isVoid { draft.key = nil }
    return draft
  }

  // MARK: - The transaction

  /// The transaction of some posts begins.
  ///
  /// It is committed at once, unless something is to be replaced.
  mutating func append(_ posts: Posts) {
    let wishes = Wishes()
    let plan = plan(posts) { serial, lane in
      wishes.note(serial, lane)
      return true
    }
    guard let plan else { return }
    let wanted = wishes.all
    guard !wanted.isEmpty else { return write(posts, plan) }
    // A store has one transaction at a time: this one comes after the other.
    guard !wanted.contains(where: { isBeingChanged($0.serial, in: $0.lane) }) else {
      return agenda.insert(Scheduled(life: life, event: .append(posts)), at: commitTime())
    }
    var granted: [Serial: LaneNumber] = [:]
    for (serial, lane) in wanted where scheduler.reserve(serial, in: lane) {
      granted[serial] = lane
    }
    guard !granted.isEmpty else { return commit(posts, replacing: [:], isRolledBack: false) }
    reserved.formUnion(granted.keys)
    agenda.insert(
      Scheduled(
        life: life,
        event: .commitPosts(posts, replacing: granted, isRolledBack: chance(1, in: 5))),
      at: commitTime())
  }

  private func isBeingChanged(_ serial: Serial, in lane: LaneNumber) -> Bool {
    reserved.contains(serial) || clearing.contains(client(of: lane))
  }

  private mutating func plan(
    _ posts: Posts, reserve: @escaping @Sendable (Serial, LaneNumber) -> Bool
  ) -> PostBatch? {
    var bits = SplitMix64(seed: random.next())
    do throws(StoreError) {
      return try store.plan(
        posts.drafts, isAtomic: posts.isAtomic, Self.rules, now: clock.wall,
        random: { bits.next() }, reserve: reserve)
    } catch {
      violate("\(error)")
      return nil
    }
  }

  /// The commit of posts that replace what was reserved for them, or its failure.
  mutating func commit(
    _ posts: Posts, replacing granted: [Serial: LaneNumber], isRolledBack: Bool
  ) {
    reserved.subtract(granted.keys)
    var unused = granted
    for serial in granted.keys.sorted() where store.place(of: serial) == nil {
      violate("\(serial) ended while it was reserved")
    }
    if !isRolledBack, let plan = plan(posts, reserve: { serial, _ in granted[serial] != nil }) {
      for case .replace(let plan) in plan.plans { unused[plan.edit.entry.serial] = nil }
      write(posts, plan)
    }
    for (serial, lane) in unused.sorted(by: { $0.key < $1.key }) {
      scheduler.released(serial, in: lane, now: clock)
    }
  }

  private mutating func write(_ posts: Posts, _ plan: PostBatch) {
    for case .replace(let plan) in plan.plans {
      for index in upstreams.indices { upstreams[index].forget(plan.edit.entry.serial) }
    }
    if plan.refusal != nil { refusedBatchCount += 1 }
    let result = transact { store, commit in store.append(plan, Self.rules, in: &commit) }
    guard let (receipt, positions) = result else { return }
    goOnLater(in: receipt.flowing)
    for (key, result) in zip(posts.keys, receipt.answers(at: positions)) {
      take(result, key, of: posts.device)
    }
  }

  // MARK: - Answers

  private mutating func take(_ result: AppendResult, _ key: Int, of index: Int) {
    switch result {
    case .accepted(let id, _, _), .parked(let id, _), .coalesced(let id, _, _):
      devices[index].stored.insert(key)
      checkNew(key, of: index)
      acknowledge(index, key, id)
    case .duplicate(let id, _):
      checkStored(key, of: index)
      acknowledge(index, key, id)
    case .void:
      voidCount += 1
      devices[index].unanswered.removeAll { $0 == key }
    case .forgotten:
      if !devices[index].voided.contains(key) { checkStored(key, of: index) }
      if devices[index].numbers[key] == nil { rememberedCount += 1 }
      devices[index].unanswered.removeAll { $0 == key }
    // The lane is past its number, and says so.
    case .sequencePassed: devices[index].unanswered.removeAll { $0 == key }
    // It is posted again.
    case .leftOut: break
    case .sequenceConflict where devices[index].voided.contains(key):
      // It had come before its device gave it up.
      checkStored(key, of: index)
      devices[index].unanswered.removeAll { $0 == key }
    case .keyConflict, .sequenceConflict, .overQuota:
      violate("key \(key) of device \(index) was refused: \(result)")
    }
  }

  private mutating func checkStored(_ key: Int, of index: Int) {
    guard !devices[index].stored.contains(key) else { return }
    violate("key \(key) of device \(index) is said to have come before")
  }

  private mutating func checkNew(_ key: Int, of index: Int) {
    let question = AppendQuestions.Key(client: "\(index)", key: "\(key)")
    guard store.remembered[question] != nil else { return }
    violate("key \(key) of device \(index) was stored though it is remembered")
  }

  /// The device is told, unless it is cut off.
  private mutating func acknowledge(_ index: Int, _ key: Int, _ id: EnvelopeID) {
    guard !chance(1, in: 10) else { return }
    devices[index].unanswered.removeAll { $0 == key }
    if let earlier = devices[index].acknowledged[key], earlier != id, !deleted.contains(earlier) {
      violate("key \(key) of device \(index) was stored as \(earlier) and as \(id)")
    }
    devices[index].acknowledged[key] = id
  }

  /// Promise 1: what was acknowledged is stored, until it has ended and was kept long enough.
  mutating func checkAcknowledged() {
    for device in devices {
      for (key, id) in device.acknowledged where !deleted.contains(id) {
        let serial = store.serial(of: id)
        let client = store.clients["\(device.number)"]
        guard serial == nil || client.flatMap({ store.keys[$0]?["\(key)"] })?.serial != serial
        else { continue }
        violate("key \(key) of device \(device.number) was acknowledged and is not stored")
      }
    }
  }
}
