import RelayCore

/// The holders of memory among requests whose bodies came in more than one piece, and the order in
/// which they give way.
///
/// A pure value: it is told what each of them takes and gives back, and at what time, and says
/// which of them to cut off where somebody else needs the room. Nobody is cut off before that: who
/// is alone may hold all there is. Where memory is short, these go, until there is room:
///
/// 1. slow ones of a source or a client that holds more than its share,
/// 2. slow ones of anybody,
/// 3. others of a source or a client that holds more than its share.
///
/// Among equals the slowest goes first. A share is what there is, divided by the sources (or
/// clients) that hold some of it, and never less than a quarter. Who asks for more than its own
/// share has nobody cut off for a share's sake, and who is slow itself nobody for slowness.
struct RequestMemory {
  /// A holder of memory.
  struct Holder: Hashable, Sendable {
    /// The source of its requests; nil for a process of this machine.
    ///
    /// A proxy is one source, be there ever so many devices behind it: these are told apart by
    /// their clients, where the relay knows them by a credential.
    var source: PlaceSource?
    /// The client that a credential says; nil for all others together.
    var client: String?
  }

  /// One request's claim.
  typealias ClaimID = UInt64

  private struct Claim {
    let holder: Holder
    var bytes: Int
    var pace: ArrivalPace
    /// Whether some of its body is still to come: only then can it be cut off.
    var isArriving = true

    func isSlow(_ now: MonotonicTime) -> Bool {
      pace.seconds(for: bytes, now: now) > Double(RequestMemory.slowSeconds)
    }
  }

  /// The least share of a source or a client: a quarter of what there is.
  static let sharesMax = 4
  /// A body is slow if what it holds would take longer than this to come at its present pace.
  static let slowSeconds = 20

  private var claims: [ClaimID: Claim] = [:]
  private var nextID: ClaimID = 1
  private(set) var bytesOfSource: [PlaceSource?: Int] = [:]
  private(set) var bytesOfClient: [String?: Int] = [:]
  /// Before this, no claim is slow that was not so when it was last looked.
  private var nextLook = MonotonicTime(nanoseconds: 0)
  /// The time between two looks for slow claims, in milliseconds: each look takes time for every
  /// claim.
  private static let lookPauseMs: Int64 = 100

  /// The number of claims.
  var claimCount: Int { claims.count }

  // MARK: What happens

  /// A body has begun to come, of a request that holds so many bytes already.
  mutating func begin(_ holder: Holder, bytes: Int, now: MonotonicTime) -> ClaimID {
    let id = nextID
    nextID += 1
    claims[id] = Claim(holder: holder, bytes: bytes, pace: ArrivalPace(now))
    count(bytes, of: holder)
    return id
  }

  /// More of a body has come.
  ///
  /// - Parameters:
  ///   - came: How many bytes, counted as they are held.
  ///   - held: How many of them are held beside what was: fewer where it goes into a file.
  /// - Returns: False where it was cut off.
  mutating func progress(_ id: ClaimID, came: Int, held: Int, now: MonotonicTime) -> Bool {
    guard claims[id] != nil else { return false }
    claims[id]?.pace.add(came, now: now)
    claims[id]?.bytes += held
    if let holder = claims[id]?.holder { count(held, of: holder) }
    return true
  }

  /// The whole body is there.
  ///
  /// - Returns: False where it was cut off.
  mutating func hasArrived(_ id: ClaimID) -> Bool {
    claims[id]?.isArriving = false
    return claims[id] != nil
  }

  /// A request gives back what it holds.
  ///
  /// - Returns: How many bytes; nil where it was cut off, and holds nothing any more.
  mutating func end(_ id: ClaimID) -> Int? {
    guard let claim = claims.removeValue(forKey: id) else { return nil }
    count(-claim.bytes, of: claim.holder)
    return claim.bytes
  }

  private mutating func count(_ bytes: Int, of holder: Holder) {
    guard bytes != 0 else { return }
    let ofSource = bytesOfSource[holder.source, default: 0] + bytes
    bytesOfSource[holder.source] = ofSource == 0 ? nil : ofSource
    let ofClient = bytesOfClient[holder.client, default: 0] + bytes
    bytesOfClient[holder.client] = ofClient == 0 ? nil : ofClient
  }

  // MARK: Who gives way

  /// A request for room that is not there.
  struct Want {
    var holder: Holder
    /// The number of bytes that the holder wants besides those that it has.
    var bytes: Int
    /// Its own claim, if it has one yet.
    var claim: ClaimID?
  }

  /// Cuts claims off, so that there are so many bytes more.
  ///
  /// - Parameters:
  ///   - lack: How many bytes are missing.
  ///   - bytesMax: How many bytes all requests may hold together.
  /// - Returns: Whom to tell, with the bytes that are free now; nobody, where those who may be cut
  ///   off do not hold as much.
  mutating func makeRoom(
    for want: Want, lack: Int, of bytesMax: Int, now: MonotonicTime
  ) -> [(id: ClaimID, bytes: Int)] {
    let shares = Shares(of: self, for: want, bytesMax: bytesMax)
    let mayBeSlow = now >= nextLook && !isSlow(want.claim, now)
    guard mayBeSlow || shares.hasSomebodyOver else { return [] }
    var candidates: [Candidate] = []
    var hasSlow = false
    for (id, claim) in claims where claim.isArriving && id != want.claim {
      let isSlow = claim.isSlow(now)
      hasSlow = hasSlow || isSlow
      let isOver = shares.isOver(claim.holder)
      guard isOver || (isSlow && mayBeSlow) else { continue }
      candidates.append(
        Candidate(
          id: id, rank: isOver && isSlow ? 0 : isSlow ? 1 : 2,
          seconds: claim.pace.seconds(for: claim.bytes, now: now), bytes: claim.bytes))
    }
    if !hasSlow { nextLook = now.adding(milliseconds: Self.lookPauseMs) }
    return cut(candidates, lack)
  }

  private func isSlow(_ id: ClaimID?, _ now: MonotonicTime) -> Bool {
    id.flatMap { claims[$0] }?.isSlow(now) ?? false
  }

  private mutating func cut(
    _ candidates: [Candidate], _ lack: Int
  ) -> [(id: ClaimID, bytes: Int)] {
    guard candidates.reduce(0, { $0 + $1.bytes }) >= lack else { return [] }
    var chosen: [(id: ClaimID, bytes: Int)] = []
    var left = lack
    for candidate in candidates.sorted(by: Candidate.goesBefore) where left > 0 {
      guard let bytes = end(candidate.id) else { continue }
      chosen.append((candidate.id, bytes))
      left -= bytes
    }
    return chosen
  }

  private struct Candidate {
    let id: ClaimID
    /// The number of its kind, as the type's comment has them.
    let rank: Int
    /// The time that its bytes would take to come at its pace.
    let seconds: Double
    let bytes: Int

    static func goesBefore(_ one: Candidate, _ other: Candidate) -> Bool {
      if one.rank != other.rank { return one.rank < other.rank }
      if one.seconds != other.seconds { return one.seconds > other.seconds }
      if one.bytes != other.bytes { return one.bytes > other.bytes }
      return one.id < other.id
    }
  }

  /// The holders of more than their share, as one claim sees them.
  private struct Shares {
    private let want: Want
    private let bytesOfSource: [PlaceSource?: Int]
    private let bytesOfClient: [String?: Int]
    private let ofSource: Int
    private let ofClient: Int
    /// Whether the one who asks stays within its share.
    private let isSourceWithin: Bool
    private let isClientWithin: Bool

    init(of memory: RequestMemory, for want: Want, bytesMax: Int) {
      self.want = want
      bytesOfSource = memory.bytesOfSource
      bytesOfClient = memory.bytesOfClient
      let source = memory.bytesOfSource[want.holder.source]
      let client = memory.bytesOfClient[want.holder.client]
      ofSource = Self.share(bytesMax, memory.bytesOfSource.count + (source == nil ? 1 : 0))
      ofClient = Self.share(bytesMax, memory.bytesOfClient.count + (client == nil ? 1 : 0))
      isSourceWithin = (source ?? 0) + want.bytes <= ofSource
      isClientWithin = (client ?? 0) + want.bytes <= ofClient
    }

    private static func share(_ bytesMax: Int, _ holderCount: Int) -> Int {
      bytesMax / min(max(1, holderCount), RequestMemory.sharesMax)
    }

    var hasSomebodyOver: Bool {
      (isSourceWithin && bytesOfSource.values.contains { $0 > ofSource })
        || (isClientWithin && bytesOfClient.values.contains { $0 > ofClient })
    }

    /// Whether a holder is another source or another client than the one who asks, and over its
    /// share as such.
    func isOver(_ holder: Holder) -> Bool {
      if isSourceWithin, holder.source != want.holder.source,
        bytesOfSource[holder.source, default: 0] > ofSource
      {
        return true
      }
      return isClientWithin && holder.client != want.holder.client
        && bytesOfClient[holder.client, default: 0] > ofClient
    }
  }
}

/// The speed at which a body comes, by the bytes of the last five to ten seconds.
struct ArrivalPace {
  /// Before it has come for so long, nobody says how fast a body comes.
  static let slotMs: Int64 = 5000

  private let begin: MonotonicTime
  private var slot: Int64 = 0
  private var bytesInSlot = 0
  private var bytesBefore = 0

  init(_ begin: MonotonicTime) { self.begin = begin }

  private func slot(at now: MonotonicTime) -> Int64 { now.milliseconds(since: begin) / Self.slotMs }

  /// Some bytes have come.
  mutating func add(_ bytes: Int, now: MonotonicTime) {
    let current = slot(at: now)
    if current > slot {
      bytesBefore = current == slot + 1 ? bytesInSlot : 0
      bytesInSlot = 0
      slot = current
    }
    bytesInSlot += bytes
  }

  /// The time that so many bytes would take to come; 0 while that is not known yet.
  func seconds(for bytes: Int, now: MonotonicTime) -> Double {
    let current = slot(at: now)
    guard current > 0 else { return 0 }
    let recent: Int
    switch current - slot {
    case 0: recent = bytesBefore + bytesInSlot
    case 1: recent = bytesInSlot
    default: recent = 0
    }
    let sinceMs = now.milliseconds(since: begin) - (current - 1) * Self.slotMs
    guard recent > 0 else { return .infinity }
    return Double(bytes) * Double(sinceMs) / 1000 / Double(recent)
  }
}
