import EventLoop
import HTTPServer
import RelayCore

/// Bytes of one request that are counted against the relay's memory.
///
/// Whoever makes one says by a `defer` how long the bytes are held; `deinit` is there for what that
/// may miss, and to keep the type from being copied.
struct MemoryReservation: ~Copyable {
  private let budget: MemoryBudget
  private let peer: PeerAddress
  private let client: String?
  private var bytes = 0
  /// Since some of the body had to be waited for; by it the bytes are given back.
  private var claim: RequestMemory.ClaimID?

  /// An empty reservation for a caller's request.
  init(_ context: EndpointContext, _ origin: RequestOrigin) {
    self.init(context.relay.memory, origin.peer, client: context.caller.client)
  }

  init(_ budget: MemoryBudget, _ peer: PeerAddress, client: String?) {
    self.budget = budget
    self.peer = peer
    self.client = client
  }

  deinit { release() }

  private var holder: RequestMemory.Holder {
    RequestMemory.Holder(source: peer.placeSource, client: client)
  }

  /// Some of the body has to be waited for: from now on the request may have to give way.
  mutating func waits(for body: RequestBody) {
    guard claim == nil, !body.isAtHand else { return }
    claim = budget.begin(body, of: holder, bytes: bytes)
  }

  /// Takes more bytes.
  ///
  /// - Throws: `overloaded` if there are not so many left, or if the request has had to give way.
  mutating func take(_ count: Int) throws(Problem) {
    guard budget.reserve(count, besides: bytes) || makeRoom(for: count) else {
      throw .overloaded("The relay holds as many bytes of requests in memory as it may.")
    }
    if let claim, !budget.progress(claim, came: count, held: count) {
      budget.release(count)
      throw .gaveWay()
    }
    bytes += count
  }

  @inline(never)
  private func makeRoom(for count: Int) -> Bool {
    budget.reserve(
      RequestMemory.Want(holder: holder, bytes: count, claim: claim), besides: bytes)
  }

  /// Some of the body has come, and goes on into a file.
  ///
  /// - Throws: `overloaded` if the request has had to give way.
  func passesOn(_ count: Int) throws(Problem) {
    guard let claim, !budget.progress(claim, came: count, held: 0) else { return }
    throw .gaveWay()
  }

  /// Holds no more than so many bytes from now on: the others went into a file.
  ///
  /// - Throws: `overloaded` if the request has had to give way.
  mutating func keep(_ count: Int) throws(Problem) {
    let surplus = bytes - count
    guard surplus > 0 else { return }
    if let claim, !budget.progress(claim, came: 0, held: -surplus) { throw .gaveWay() }
    budget.release(surplus)
    bytes = count
  }

  /// The whole body is there: the request need not give way any more.
  ///
  /// - Throws: `overloaded` if it has had to before.
  func hasArrived() throws(Problem) {
    if let claim, !budget.hasArrived(claim) { throw .gaveWay() }
  }

  /// Hands over what is held for an answer of so many bytes, until it is written; the rest is given
  /// back.
  mutating func handOver(_ count: Int) -> HeldMemory {
    try? keep(count)
    defer {
      claim = nil
      bytes = 0
    }
    return HeldMemory(budget, bytes, claim)
  }

  /// Gives everything back.
  mutating func giveBack() {
    release()
    claim = nil
    bytes = 0
  }

  private func release() {
    if let claim { budget.end(claim) } else { budget.release(bytes) }
  }
}

/// Memory that is counted for as long as somebody keeps this.
final class HeldMemory: Sendable {
  private let budget: MemoryBudget
  private let bytes: Int
  private let claim: RequestMemory.ClaimID?

  fileprivate init(_ budget: MemoryBudget, _ bytes: Int, _ claim: RequestMemory.ClaimID?) {
    self.budget = budget
    self.bytes = bytes
    self.claim = claim
  }

  deinit {
    if let claim { budget.end(claim) } else { budget.release(bytes) }
  }
}
