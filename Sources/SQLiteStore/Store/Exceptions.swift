import RelayCore

/// The parts that a transaction leaves out, since they are damaged.
///
/// Once a transaction has met a damaged page, SQLite lets it write nothing more and does not commit
/// it, not even what came before a savepoint (`SQLITE_CorruptRdOnly` in its source). So it is
/// rolled back, and made anew without what met the damage.
struct Exceptions {
  /// A step of the transaction, which tells what met the damage.
  enum Step {
    /// A change, by its place among the changes.
    case change(Int)
    /// A request, by its place among the requests.
    case request(Int)
    /// Putting in line what a lane has parked: this envelope, once it is known.
    case flow(LaneNumber, Serial?)
    /// Noting that an envelope cannot be moved.
    case setApart(Serial)
    /// Reading an envelope's id.
    case identity(Serial)
    /// Replacing the last envelope of a name.
    case coalescing(Name)
    /// Saying what a lane waits for.
    case missing(LaneNumber)
    /// Deleting what has been kept long enough.
    case deletion(Serial)
    /// Finding the next that has ended, from this number on.
    case ended(Serial)
    /// Writing a lane's greatest sequence number.
    case numbering(LaneNumber)
    /// Adding up in a lane's row what has ended in it.
    case counting(LaneNumber)
    /// Listing what has ended, by lane, or reading that list.
    case listing
    /// Something that can be gone on without.
    case part(StoreDamage.Part)
  }

  /// A name under which later posts take the place of earlier ones.
  struct Name: Hashable {
    let lane: LaneNumber
    let name: String
  }

  /// The step under way.
  var step: Step?
  /// The request that it is a part of.
  var request: Int?
  /// The damage met last.
  private(set) var lastDamage: StoreError?
  private(set) var changes: Set<Int> = []
  private(set) var requests: [Int: StoreError] = [:]
  private(set) var lanes: Set<LaneNumber> = []
  private(set) var unmovable: Set<Serial> = []
  private(set) var leftUnmarked: Set<Serial> = []
  private(set) var unidentified: Set<Serial> = []
  private(set) var names: Set<Name> = []
  private(set) var unknownMissing: Set<LaneNumber> = []
  private(set) var undeleted: Set<Serial> = []
  private(set) var unnumbered: [LaneNumber: StoreError] = [:]
  private(set) var uncounted: Set<LaneNumber> = []
  private(set) var isListLost = false
  /// The parts that the store continues without.
  private(set) var parts: Set<StoreDamage.Part> = []

  /// Leaves out what was being done when this happened.
  ///
  /// - Returns: Whether there is anything to be left out; if not, the whole transaction fails.
  mutating func leaveOut(_ error: StoreError) -> Bool {
    guard let step, error.kind == .corrupt || error.kind == .other else { return false }
    guard error.kind == .corrupt else { return refuse(error) }
    lastDamage = error
    switch step {
    case .change(let place): return changes.insert(place).inserted
    case .request: return refuse(error)
    case .flow(let lane, let serial):
      if let serial, unmovable.insert(serial).inserted { return true }
      return lanes.insert(lane).inserted
    case .setApart(let serial): return leftUnmarked.insert(serial).inserted
    case .identity(let serial): return unidentified.insert(serial).inserted
    case .coalescing(let name): return names.insert(name).inserted
    case .missing(let lane): return unknownMissing.insert(lane).inserted
    case .deletion(let serial):
      parts.insert(.envelopeDeletion)
      return undeleted.insert(serial).inserted
    case .ended: return refuse(error)
    case .numbering(let lane): return unnumbered.updateValue(error, forKey: lane) == nil
    case .counting(let lane):
      parts.insert(.laneCounts)
      return uncounted.insert(lane).inserted
    case .listing:
      parts.insert(.laneCounts)
      defer { isListLost = true }
      return !isListLost
    case .part(let part): return parts.insert(part).inserted
    }
  }

  /// Takes note of ended envelopes that cannot be read, and are gone round.
  mutating func noteUnreadableEnded(_ error: StoreError) {
    lastDamage = error
    parts.insert(.envelopeDeletion)
  }

  /// The database refuses something of a request for no damage: the request fails alone.
  ///
  /// Trouble with a change passes, and it is made then.
  private mutating func refuse(_ error: StoreError) -> Bool {
    if let request { return requests.updateValue(error, forKey: request) == nil }
    guard case .flow(let lane, _) = step else { return false }
    return lanes.insert(lane).inserted
  }
}

extension Writer {
  /// Does a part of something, of which the rest goes on if this part meets damage.
  func part<Value>(
    _ step: Exceptions.Step, _ body: () throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    let whole = exceptions.step
    exceptions.step = step
    let value = try body()
    exceptions.step = whole
    return value
  }
}
