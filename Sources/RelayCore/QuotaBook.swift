/// How much waits, or is waited with: a number of envelopes and their bytes.
package struct WaitingUse: Hashable, Sendable {
  /// How many envelopes; negative in a change.
  package var count: Int
  /// Bytes of their bodies, headers and targets; negative in a change.
  package var bytes: Int64

  /// So many envelopes, of so many bytes.
  package init(count: Int = 0, bytes: Int64 = 0) {
    self.count = count
    self.bytes = bytes
  }

  /// Whether nothing is there, or nothing changes.
  package var isNothing: Bool { count == 0 && bytes == 0 }

  /// Both added.
  package static func + (left: Self, right: Self) -> Self {
    WaitingUse(count: left.count + right.count, bytes: left.bytes + right.bytes)
  }

  /// Both taken away.
  package static func - (left: Self, right: Self) -> Self {
    WaitingUse(count: left.count - right.count, bytes: left.bytes - right.bytes)
  }

  /// Adds.
  package static func += (left: inout Self, right: Self) { left = left + right }
}

/// How much of each client waits, and how much is on its way in.
///
/// What waits is told by the store with each commit, so that it is exact, also after a restart.
/// A post claims room before it is stored and lets go of the claim afterwards: posts that come in
/// at one moment cannot pass a quota together. Between the commit and the end of its claim an
/// envelope counts twice, which errs on the safe side.
package struct QuotaBook: Sendable {
  private struct Claim {
    /// The client's number, once it is known.
    var number: ClientNumber?
    var use = WaitingUse()
    /// How many posts have a part in it.
    var holders = 0
  }

  /// What waits in all.
  package private(set) var total = WaitingUse()
  private var clients: [ClientNumber: WaitingUse] = [:]
  private var claims: [String: Claim] = [:]
  private var claimed = WaitingUse()

  /// An empty book.
  package init() {}

  /// How many clients have something waiting.
  package var clientCount: Int { clients.count }

  /// How many clients have something on its way in.
  package var claimCount: Int { claims.count }

  /// What waits of a client.
  package func waiting(of client: ClientNumber) -> WaitingUse { clients[client] ?? WaitingUse() }

  // MARK: - What the store tells

  /// What waits of a client has changed.
  package mutating func change(_ client: ClientNumber, by change: WaitingUse) {
    total += change
    let use = waiting(of: client) + change
    clients[client] = use.isNothing ? nil : use
  }

  /// A client became known by this number.
  package mutating func note(_ number: ClientNumber, of name: String) {
    // Only who has a claim will ask: everybody else looks it up in the store.
    guard claims[name] != nil else { return }
    claims[name]?.number = number
  }

  // MARK: - Claims

  /// Begins a claim of a client's, of nothing yet; ended by ``release(_:of:)``.
  ///
  /// Begun before the client's number is looked up: from here on ``note(_:of:)`` sees to it that a
  /// client which becomes known meanwhile is not taken for one of which nothing waits.
  package mutating func begin(_ name: String) { claims[name, default: Claim()].holders += 1 }

  /// Claims room.
  ///
  /// - Parameters:
  ///   - number: The client's number, if the store knows it.
  ///   - quota: The client's.
  ///   - everybody: That of all clients together.
  /// - Throws: The quota that has no room for it; nothing is claimed then.
  package mutating func claim(
    _ use: WaitingUse, of name: String, _ number: ClientNumber?, quota: WaitingQuota,
    everybody: WaitingQuota
  ) throws(QuotaRefusal) {
    guard let claim = claims[name] else { preconditionFailure("a claim is begun first") }
    // What became known meanwhile is newer than what was looked up before.
    let waiting = (claim.number ?? number).map { self.waiting(of: $0) } ?? WaitingUse()
    try Self.check(waiting + claim.use, use, quota, isOfClient: true)
    try check(use, everybody: everybody)
    claims[name]?.use += use
    claimed += use
  }

  /// Ends a claim: what was claimed is stored by now, or was not taken.
  package mutating func release(_ use: WaitingUse, of name: String) {
    claimed = claimed - use
    guard var claim = claims[name] else { return }
    claim.use = claim.use - use
    claim.holders -= 1
    claims[name] = claim.holders > 0 ? claim : nil
  }

  /// Claims room for a client that has no quota of its own.
  package mutating func claim(
    _ use: WaitingUse, everybody: WaitingQuota
  ) throws(QuotaRefusal) {
    try check(use, everybody: everybody)
    claimed += use
  }

  /// Ends such a claim.
  package mutating func release(_ use: WaitingUse) { claimed = claimed - use }

  /// Looks whether there is room for so much, whoever sends it.
  package func check(_ use: WaitingUse, everybody: WaitingQuota) throws(QuotaRefusal) {
    try Self.check(total + claimed, use, everybody, isOfClient: false)
  }

  /// Looks whether there is room for more by a quota of which so much is used.
  private static func check(
    _ used: WaitingUse, _ more: WaitingUse, _ quota: WaitingQuota, isOfClient: Bool
  ) throws(QuotaRefusal) {
    if let countMax = quota.envelopesMax, more.count > 0, used.count + more.count > countMax {
      throw QuotaRefusal(
        limit: .waitingEnvelopes, isOfClient: isOfClient, max: Double(countMax),
        used: Int64(used.count))
    }
    if let bytesMax = quota.bytesMax, more.bytes > 0, used.bytes + more.bytes > Int64(bytesMax) {
      throw QuotaRefusal(
        limit: .waitingBytes, isOfClient: isOfClient, max: Double(bytesMax), used: used.bytes)
    }
  }
}
