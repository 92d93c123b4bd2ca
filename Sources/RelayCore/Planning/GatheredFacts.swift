/// The facts of one batch, read ahead by its ``AppendQuestions``.
///
/// It is for a store that is reached over a network, where each question is a round trip. SQLite's
/// writer answers as it is asked: its facts are its tables. The conformance suite holds both to the
/// same answers.
///
/// A store fills it in, asks ``AppendRules`` for one plan after the other, and notes each plan
/// here, so that the next one goes by it. All plans together are what it writes.
package struct GatheredFacts: AppendFacts {
  /// The numbers and names given out so far, those of the noted plans included.
  package private(set) var given: GivenNumbers
  /// The most names that may be known.
  package let nameLimits: NameLimits
  private var clients: [String: ClientNumber] = [:]
  private var lanes: [LaneName: KnownLane] = [:]
  private var laneCounts: [ClientNumber: Int64] = [:]
  private var upstreams: [String: UpstreamNumber] = [:]
  private var keys: [KeyOfClient: StoredPost] = [:]
  private var remembered: [AppendQuestions.Key: [UInt8]] = [:]
  private var holders: [NumberInLane: NumberHolder] = [:]
  /// By lane, in order.
  private var gaps: [LaneNumber: [SequenceGap]] = [:]
  private var placed: [LaneNumber: Int64] = [:]
  private var waiting: [NameInLane: WaitingPost] = [:]
  /// What was accepted or reserved by plans that were noted.
  private var own: Set<Serial> = []
  private let reservation: @Sendable (Serial, LaneNumber) -> Bool

  private struct KeyOfClient: Hashable {
    let client: ClientNumber
    let key: String
  }

  private struct NumberInLane: Hashable {
    let lane: LaneNumber
    let number: Int64
  }

  private struct NameInLane: Hashable {
    let lane: LaneNumber
    let name: String
  }

  /// Nothing is known yet.
  ///
  /// - Parameter reserve: Asks the scheduler to keep an envelope from being attempted.
  package init(
    given: GivenNumbers, nameLimits: NameLimits,
    reserve: @escaping @Sendable (Serial, LaneNumber) -> Bool
  ) {
    self.given = given
    self.nameLimits = nameLimits
    reservation = reserve
  }

  // MARK: - Filling in

  /// Notes a client that is known.
  package mutating func fill(client name: String, _ number: ClientNumber, laneCount: Int64) {
    clients[name] = number
    laneCounts[number] = laneCount
  }

  /// Notes a lane that is known.
  ///
  /// - Parameters:
  ///   - placed: The number up to which everything that came stands in line; nil if nothing is
  ///     parked.
  ///   - gaps: The gaps that were asked for, in order.
  package mutating func fill(
    lane name: LaneName, _ lane: KnownLane, placedThrough placed: Int64?, gaps: [SequenceGap]
  ) {
    lanes[name] = lane
    self.placed[lane.number] = placed
    self.gaps[lane.number] = gaps
  }

  /// Notes the number of an upstream.
  package mutating func fill(upstream name: String, _ number: UpstreamNumber) {
    upstreams[name] = number
  }

  /// Notes the post that a client's key stands for.
  package mutating func fill(key: String, of client: ClientNumber, _ post: StoredPost) {
    keys[KeyOfClient(client: client, key: key)] = post
  }

  /// Notes what was posted under a key whose envelope is forgotten.
  package mutating func fill(remembered key: AppendQuestions.Key, _ digest: [UInt8]) {
    remembered[key] = digest
  }

  /// Notes what a lane has taken under a number.
  package mutating func fill(number: Int64, in lane: LaneNumber, _ holder: NumberHolder) {
    holders[NumberInLane(lane: lane, number: number)] = holder
  }

  /// Notes the envelope that waits under a name to coalesce by.
  package mutating func fill(name: String, in lane: LaneNumber, _ post: WaitingPost) {
    waiting[NameInLane(lane: lane, name: name)] = post
  }

  // MARK: - Answering

  /// The number of a client, if it was filled in or noted.
  package func knownClient(_ name: String) -> ClientNumber? { clients[name] }

  /// A lane, if it was filled in or noted.
  package func knownLane(_ name: LaneName) -> KnownLane? { lanes[name] }

  /// The number of lanes of a client.
  package func laneCount(of client: ClientNumber) -> Int64 { laneCounts[client] ?? 0 }

  /// The number of an upstream.
  ///
  /// - Throws: ``StoreError`` if it was not filled in.
  package func upstreamNumber(_ name: String) throws(StoreError) -> UpstreamNumber {
    guard let number = upstreams[name] else {
      throw StoreError(
        kind: .other, operation: "plan a post to", subject: "upstream \(name)",
        detail: "it was not registered before")
    }
    return number
  }

  /// The post that a client's key stands for.
  package func post(ofKey key: String, of client: ClientNumber) -> StoredPost? {
    keys[KeyOfClient(client: client, key: key)]
  }

  /// What was posted under a client's key whose envelope is forgotten.
  package func rememberedDigest(ofKey key: String, of client: String) -> [UInt8]? {
    remembered[AppendQuestions.Key(client: client, key: key)]
  }

  /// What a lane has taken under a sequence number.
  package func holder(ofNumber number: Int64, in lane: LaneNumber) -> NumberHolder {
    holders[NumberInLane(lane: lane, number: number)] ?? .nobody
  }

  /// The gap that a sequence number lies in.
  package func gap(around number: Int64, in lane: LaneNumber) -> SequenceGap? {
    gaps[lane]?.first { $0.range.first <= number && number <= $0.range.last }
  }

  /// The sequence number up to which everything that came stands in line.
  package func placedThrough(_ lane: LaneNumber) -> Int64? { placed[lane] }

  /// The lowest sequence number that a lane waits for.
  package func firstMissing(in lane: LaneNumber) -> Int64? {
    guard let placed = placed[lane] else { return nil }
    return gaps[lane]?.first { !$0.isSkipped && $0.range.first > placed }?.range.first
  }

  /// The last envelope of a name to coalesce by, if it waits.
  package func waitingPost(ofName name: String, in lane: KnownLane) -> WaitingPost? {
    waiting[NameInLane(lane: lane.number, name: name)]
  }

  /// Keeps a waiting envelope from being attempted; what the noted plans have accepted or reserved
  /// needs no asking.
  package func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool {
    own.contains(serial) || reservation(serial, lane)
  }

  // MARK: - Noting plans

  /// Takes over what a plan changes, for the plans after it.
  package mutating func note(_ plan: PostPlan, of draft: EnvelopeDraft) {
    switch plan {
    case .answer: break
    case .insert(let plan): note(plan, of: draft)
    case .void(let plan): note(plan, of: draft)
    case .replace(let plan): note(plan, of: draft)
    }
  }

  private mutating func note(_ plan: VoidPlan, of draft: EnvelopeDraft) {
    let lane = LaneName(client: draft.client, lane: draft.lane)
    given.note(plan)
    if plan.isNewClient { clients[draft.client] = plan.lane.client }
    if plan.isNewLane {
      lanes[lane] = plan.lane
      laneCounts[plan.lane.client, default: 0] += 1
    }
    note(plan.numbering, in: plan.lane.number, lane)
  }

  private mutating func note(_ numbering: NumberPlan, in number: LaneNumber, _ lane: LaneName) {
    lanes[lane]?.lastSequence = numbering.highest
    gaps[number, default: []].take(numbering)
    if let through = numbering.placedThrough { placed[number] = through }
  }

  private mutating func note(_ plan: InsertPlan, of draft: EnvelopeDraft) {
    let entry = plan.entry
    let lane = LaneName(client: draft.client, lane: draft.lane)
    own.insert(entry.serial)
    given.note(plan)
    if plan.isNewClient { clients[draft.client] = entry.client }
    if plan.isNewLane {
      lanes[lane] = KnownLane(client: entry.client, number: entry.lane, lastSequence: nil)
      laneCounts[entry.client, default: 0] += 1
    }
    let post = StoredPost(
      id: plan.id, fingerprint: draft.fingerprint, key: draft.key, state: entry.standing.state)
    if let key = draft.key { fill(key: key, of: entry.client, post) }
    if let numbering = plan.numbering {
      note(numbering, in: entry.lane, lane)
      fill(number: numbering.number, in: entry.lane, .post(post))
    }
    if let name = draft.coalesce {
      fill(
        name: name, in: entry.lane,
        WaitingPost(
          id: plan.id, key: draft.key, fingerprint: draft.fingerprint,
          notBefore: draft.notBefore, revision: 0, entry: entry))
    }
  }

  private mutating func note(_ plan: ReplacePlan, of draft: EnvelopeDraft) {
    let entry = plan.edit.entry
    own.insert(entry.serial)
    let post = StoredPost(
      id: plan.former.id, fingerprint: draft.fingerprint, key: draft.key,
      state: entry.standing.state)
    // Keys of former contents stand for this envelope, each with its own content's fingerprint.
    for key in Array(keys.keys) where keys[key]?.id == post.id {
      keys[key]?.key = post.key
      keys[key]?.state = post.state
    }
    if let key = draft.key { fill(key: key, of: entry.client, post) }
    for number in Array(holders.keys) {
      guard case .post(let known) = holders[number], known.id == post.id else { continue }
      holders[number] = .post(post)
    }
    if let name = draft.coalesce {
      fill(
        name: name, in: entry.lane,
        WaitingPost(
          id: post.id, key: draft.key, fingerprint: draft.fingerprint,
          notBefore: draft.notBefore, revision: plan.revision, entry: entry))
    }
  }
}

extension GivenNumbers {
  /// Notes what a new envelope has been given.
  package mutating func note(_ plan: InsertPlan) {
    lastSerial = plan.entry.serial
    latestTime = max(latestTime, plan.entry.acceptedAt)
    note(
      client: plan.isNewClient ? plan.entry.client : nil,
      lane: plan.isNewLane ? plan.entry.lane : nil)
  }

  /// Notes what a void number has been given.
  package mutating func note(_ plan: VoidPlan) {
    note(
      client: plan.isNewClient ? plan.lane.client : nil,
      lane: plan.isNewLane ? plan.lane.number : nil)
  }

  private mutating func note(client: ClientNumber?, lane: LaneNumber?) {
    if let client {
      lastClient = client.rawValue
      names.clients += 1
    }
    if let lane {
      lastLane = lane.rawValue
      names.lanes += 1
    }
  }
}

extension [SequenceGap] {
  /// Changes a lane's gaps, which stay in order, as a number demands.
  package mutating func take(_ plan: NumberPlan) {
    var place = firstIndex { $0.range.first > plan.number } ?? endIndex
    if let closed = plan.closed, let old = firstIndex(where: { $0.range == closed }) {
      remove(at: old)
      place = old
    }
    var parts = [plan.lowerGap, plan.upperGap].compactMap { $0.map { SequenceGap($0) } }
    if plan.isVoid {
      let range = SequenceRange(first: plan.number, last: plan.number)
      parts.append(SequenceGap(range, isSkipped: true))
    }
    insert(contentsOf: parts.sorted { $0.range.first < $1.range.first }, at: place)
    guard plan.skipsBelow else { return }
    for index in indices where self[index].range.first < plan.number {
      self[index].isSkipped = true
    }
  }
}
