/// An amount of waiting: a number of envelopes and their bytes.
package struct WaitingUse: Hashable, Sendable {
  /// The number of envelopes; may be negative in a change.
  package var count: Int
  /// Bytes of their bodies, headers and targets; may be negative in a change.
  package var bytes: Int64

  /// Sets both numbers.
  package init(count: Int = 0, bytes: Int64 = 0) {
    self.count = count
    self.bytes = bytes
  }

  /// Whether both are zero.
  package var isNothing: Bool { count == 0 && bytes == 0 }

  /// Adds count and bytes.
  package static func + (left: Self, right: Self) -> Self {
    WaitingUse(count: left.count + right.count, bytes: left.bytes + right.bytes)
  }

  /// Subtracts count and bytes.
  package static func - (left: Self, right: Self) -> Self {
    WaitingUse(count: left.count - right.count, bytes: left.bytes - right.bytes)
  }

  /// Adds count and bytes in place.
  package static func += (left: inout Self, right: Self) { left = left + right }
}

/// The amounts of each client that wait, and that are on their way in.
///
/// The store reports with each commit how much waits, so the book is exact, also after a restart. A
/// post claims room before it is stored and releases the claim afterwards, so posts that come in at
/// one moment cannot exceed a quota together. Between its commit and the release of its claim an
/// envelope counts twice, which errs on the safe side.
package struct QuotaBook: Sendable {
  private struct Claim {
    /// The client's number, once it is known.
    var number: ClientNumber?
    var use = WaitingUse()
    /// The number of posts that share the claim.
    var holders = 0
  }

  /// The amount that waits in all.
  package private(set) var total = WaitingUse()
  private var clients: [ClientNumber: WaitingUse] = [:]
  private var claims: [String: Claim] = [:]
  private var claimed = WaitingUse()

  /// An empty book.
  package init() {}

  /// The number of clients with something waiting.
  package var clientCount: Int { clients.count }

  /// The number of clients with something on its way in.
  package var claimCount: Int { claims.count }

  /// The amount of a client that waits.
  package func waiting(of client: ClientNumber) -> WaitingUse { clients[client] ?? WaitingUse() }

  /// What counts against the quota of all: what waits, and what is claimed.
  package var used: WaitingUse { total + claimed }

  /// What counts against a client's own quota: what waits of it, and what is claimed for it.
  ///
  /// - Parameter number: The client's number, if the store knows it.
  package func used(by name: String, _ number: ClientNumber?) -> WaitingUse {
    let claim = claims[name]
    // A number that was noted meanwhile is newer than the one that was looked up.
    let waiting = (claim?.number ?? number).map { self.waiting(of: $0) } ?? WaitingUse()
    return waiting + (claim?.use ?? WaitingUse())
  }

  // MARK: - Reports from the store

  /// Notes a change in how much waits of a client.
  package mutating func change(_ client: ClientNumber, by change: WaitingUse) {
    total += change
    let use = waiting(of: client) + change
    clients[client] = use.isNothing ? nil : use
  }

  /// Notes the number of a client that became known.
  package mutating func note(_ number: ClientNumber, of name: String) {
    // Only a client with a claim will ask for it: all others are looked up in the store.
    guard claims[name] != nil else { return }
    claims[name]?.number = number
  }

  // MARK: - Claims

  /// Begins an empty claim of a client; ended by ``release(_:of:)``.
  ///
  /// It has to begin before the client's number is looked up: from then on ``note(_:of:)`` sees to
  /// it that a client that becomes known meanwhile is not taken for one of which nothing waits.
  package mutating func begin(_ name: String) { claims[name, default: Claim()].holders += 1 }

  /// Claims room.
  ///
  /// - Parameters:
  ///   - number: The client's number, if the store knows it.
  ///   - quota: The client's quota.
  ///   - everybody: The quota of all clients together.
  /// - Throws: The quota that has no room; nothing is claimed then.
  package mutating func claim(
    _ use: WaitingUse, of name: String, _ number: ClientNumber?, quota: WaitingQuota,
    everybody: WaitingQuota
  ) throws(QuotaRefusal) {
    guard claims[name] != nil else { preconditionFailure("a claim is begun first") }
    try Self.check(used(by: name, number), use, quota, isOfClient: true)
    try check(use, everybody: everybody)
    claims[name]?.use += use
    claimed += use
  }

  /// Ends a claim: the post is stored by now, or was not taken.
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

  /// Releases the claim of a client that has no quota of its own.
  package mutating func release(_ use: WaitingUse) { claimed = claimed - use }

  /// Checks that the quota of all clients together has room for this much.
  package func check(_ use: WaitingUse, everybody: WaitingQuota) throws(QuotaRefusal) {
    try Self.check(used, use, everybody, isOfClient: false)
  }

  /// Checks that a quota has room for more beside what is used.
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
