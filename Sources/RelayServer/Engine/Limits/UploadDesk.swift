import HTTPServer
import RelayCore
import Synchronization

/// The uploads that are open: how many there are, the room that each claims of the quotas, and
/// whose turn it is to go on with one.
final class UploadDesk: Sendable {
  /// How much there may be of uploads.
  struct Limits: Sendable {
    /// The most that are open.
    var all: Int
    /// The most of one client.
    var ofClient: Int
    /// The bytes that others may still claim; nil where nobody knows.
    var roomBytes: Int64?
    /// What all uploads of a client may claim, in percent of that and of what is claimed already.
    var clientPercent = 100
  }

  /// What keeps an upload from being begun.
  enum Refusal: Error {
    /// As many are open as may be.
    case full(max: Int, isOfClient: Bool)
    /// All that are open of the client, and this one, would claim more than a client may.
    case share(bytesMax: Int64)
    /// Another one that is open has its number.
    case numberTaken(UploadID)
  }

  private struct Open {
    let client: String
    let place: Place?
    /// The bytes that it said it would have, as it began.
    let announcedBytes: Int64
    var claim = HeldClaim()

    var bytes: Int64 { max(announcedBytes, claim.use.bytes) }
  }

  /// A number in a lane.
  private struct Place: Hashable {
    let client: String
    let lane: String
    let number: Int64

    init?(_ draft: EnvelopeDraft) {
      guard let number = draft.sequence else { return nil }
      (client, lane, self.number) = (draft.client, draft.lane, number)
    }
  }

  private struct State {
    var open: [UploadID: Open] = [:]
    var ofClient: [String: Int] = [:]
    var places: [Place: UploadID] = [:]
    var turns: [UploadID: [UploadTurn]] = [:]
    var counts: [UploadFigures.Event: UInt64] = [:]

    mutating func add(_ upload: Upload, _ claim: HeldClaim) {
      let place = Place(upload.terms.draft)
      open[upload.id] = Open(
        client: upload.client, place: place, announcedBytes: upload.use.bytes, claim: claim)
      ofClient[upload.client, default: 0] += 1
      // Of two that a release before let begin with one number, the first has it.
      if let place, places[place] == nil { places[place] = upload.id }
    }

    /// The most bytes that a client's uploads may claim, if one more would claim too many.
    ///
    /// A first one has what room there is: it may be larger than a share of a small disk.
    func share(exceededBy upload: Upload, _ limits: Limits) -> Int64? {
      // What there is no room for in any case is told as that.
      guard let roomBytes = limits.roomBytes, upload.use.bytes <= roomBytes,
        ofClient[upload.client] != nil
      else { return nil }
      var (all, own) = (Int64(0), upload.use.bytes)
      for other in open.values {
        all += other.bytes
        if other.client == upload.client { own += other.bytes }
      }
      let bytesMax = Int64((Double(roomBytes) + Double(all)) * Double(limits.clientPercent) / 100)
      return own > bytesMax ? bytesMax : nil
    }
  }

  private let quotas: QuotaKeeper
  private let state = Mutex(State())

  /// A desk without uploads.
  init(quotas: QuotaKeeper) { self.quotas = quotas }

  // MARK: - What is open

  /// Takes in what the store has at the start.
  ///
  /// That may be tried again once others have begun: those are known.
  func restore(_ uploads: [Upload]) {
    for upload in uploads where state.withLock({ $0.open[upload.id] == nil }) {
      let claim = HeldClaim(upload.use, of: upload.client, from: quotas)
      state.withLock { state in
        state.add(upload, claim)
      }
    }
  }

  /// Takes a place for a new upload; it ends with ``end(_:as:)``.
  func begin(_ upload: Upload, _ limits: Limits) throws(Refusal) {
    try state.withLock { (state) throws(Refusal) in
      if let place = Place(upload.terms.draft), let other = state.places[place] {
        throw .numberTaken(other)
      }
      guard state.open.count < limits.all else {
        throw .full(max: limits.all, isOfClient: false)
      }
      guard state.ofClient[upload.client, default: 0] < limits.ofClient else {
        throw .full(max: limits.ofClient, isOfClient: true)
      }
      if let bytesMax = state.share(exceededBy: upload, limits) { throw .share(bytesMax: bytesMax) }
      state.add(upload, HeldClaim())
    }
  }

  /// Holds what was claimed for an open upload until it ends.
  func hold(_ claim: HeldClaim, for id: UploadID) {
    let isHeld = state.withLock { $0.open[id]?.claim.add(claim) != nil }
    if !isHeld { claim.release(to: quotas) }
  }

  /// The bytes that are claimed for an open upload.
  func claimedBytes(of id: UploadID) -> Int64 {
    state.withLock { $0.open[id]?.claim.use.bytes } ?? 0
  }

  /// What a client's open uploads claim.
  func claimed(of client: String) -> WaitingUse {
    state.withLock { state in
      guard state.ofClient[client] != nil else { return WaitingUse() }
      return state.open.values.reduce(WaitingUse()) { use, open in
        open.client == client ? use + open.claim.use : use
      }
    }
  }

  /// Gives back what an upload has claimed: it is open no longer.
  ///
  /// - Parameter event: What has become of it; nil if it was never stored.
  func end(_ id: UploadID, as event: UploadFigures.Event?) {
    let ended = state.withLock { state -> Open? in
      guard let ended = state.open.removeValue(forKey: id) else { return nil }
      if let event { state.counts[event, default: 0] &+= 1 }
      let left = state.ofClient[ended.client, default: 1] - 1
      state.ofClient[ended.client] = left > 0 ? left : nil
      if let place = ended.place, state.places[place] == id { state.places[place] = nil }
      return ended
    }
    ended?.claim.release(to: quotas)
  }

  /// Counts what has happened.
  func count(_ event: UploadFigures.Event) {
    state.withLock { $0.counts[event, default: 0] &+= 1 }
  }

  /// What is open, and what was counted.
  var figures: UploadFigures {
    state.withLock { state in
      UploadFigures(
        open: state.open.count,
        openBytes: state.open.values.reduce(0) { $0 + $1.claim.use.bytes }, counts: state.counts)
    }
  }

  // MARK: - Turns

  /// Waits for the turn to go on with an upload, and ends the requests that have it or wait for it:
  /// their senders have given them up.
  ///
  /// - Parameter body: The body that the request reads, which the next request ends.
  /// - Returns: The turn; it has to be given back by ``end(_:)``.
  func turn(of id: UploadID, reading body: RequestBody) async -> UploadTurn {
    await withUnsafeContinuation { continuation in
      let turn = UploadTurn(of: id, body)
      let (former, isFirst) = state.withLock { state -> ([UploadTurn], Bool) in
        let former = state.turns[id] ?? []
        state.turns[id] = former + [turn]
        if !former.isEmpty { turn.wait { continuation.resume(returning: turn) } }
        return (former, former.isEmpty)
      }
      for turn in former { turn.supersede() }
      if isFirst { continuation.resume(returning: turn) }
    }
  }

  /// Takes the turns of those uploads that no request is about; requests that come meanwhile wait.
  func freeTurns(of ids: [UploadID]) -> [UploadTurn] {
    state.withLock { state in
      ids.compactMap { id in
        guard state.turns[id] == nil else { return nil }
        let turn = UploadTurn(of: id, nil)
        state.turns[id] = [turn]
        return turn
      }
    }
  }

  /// Gives a turn back: the next request has it.
  func end(_ turn: UploadTurn) {
    let next = state.withLock { state -> UploadTurn? in
      var turns = state.turns[turn.id] ?? []
      turns.removeAll { $0 === turn }
      state.turns[turn.id] = turns.isEmpty ? nil : turns
      return turns.first
    }
    next?.go()
  }
}

/// The turn of one request to go on with an upload.
final class UploadTurn: Sendable {
  private struct State {
    var isSuperseded = false
    var waiter: (@Sendable () -> Void)?
  }

  let id: UploadID
  /// What its request reads; nil if it is no request's.
  private let body: RequestBody?
  private let state = Mutex(State())

  fileprivate init(of id: UploadID, _ body: RequestBody?) {
    self.id = id
    self.body = body
  }

  /// Whether a later request has come, and has ended this one.
  var isSuperseded: Bool { state.withLock { $0.isSuperseded } }

  fileprivate func wait(_ go: @escaping @Sendable () -> Void) {
    state.withLock { $0.waiter = go }
  }

  fileprivate func supersede() {
    state.withLock { $0.isSuperseded = true }
    // What has come is taken: it was sent, and need not be sent again.
    body?.endEarly()
  }

  fileprivate func go() {
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?()
  }
}
