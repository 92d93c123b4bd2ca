import RelayCore
import Synchronization

/// Holds senders to their quotas: what waits of them, and how often they ask.
///
/// Told by the store of each commit, through the dispatcher, and asked by endpoints. Both tables
/// are bounded: one by the clients of which something waits, which is counted in the store as well,
/// the other by ``ratesKeptMax``.
package final class QuotaKeeper: Sendable {
  /// For how many clients it is remembered how often they have asked lately, at the most: two to
  /// three megabytes.
  package static let ratesKeptMax = 65_536

  private struct Rates {
    var everybody = TokenBucket()
    var clients = RateTable(countMax: QuotaKeeper.ratesKeptMax)
  }

  private let rulesInForce: Mutex<QuotaRules>
  private let book = Mutex(QuotaBook())
  private let rates = Mutex(Rates())
  private let forgettings = Atomic<UInt64>(0)

  /// A keeper that knows of nothing that waits yet.
  package init(_ rules: QuotaRules) { rulesInForce = Mutex(rules) }

  /// The rules: what counts for which client.
  package var rules: QuotaRules { rulesInForce.withLock { $0 } }

  /// Goes by other rules from now on; what waits, and how often somebody has asked, is kept.
  package func update(to rules: QuotaRules) { rulesInForce.withLock { $0 = rules } }

  // MARK: - What waits

  /// The use of all clients together.
  package var total: WaitingUse { book.withLock { $0.total } }

  /// The number of clients that have something waiting.
  package var clientCount: Int { book.withLock { $0.clientCount } }

  /// Returns a client's use.
  package func waiting(of client: ClientNumber) -> WaitingUse {
    book.withLock { $0.waiting(of: client) }
  }

  /// Takes in what the store found to wait.
  package func change(_ changes: [ClientNumber: WaitingUse]) {
    book.withLock { book in
      for (client, change) in changes { book.change(client, by: change) }
    }
  }

  /// Takes in by how much more or less waits, and the numbers of clients that became known.
  private func take(_ commit: Commit) {
    book.withLock { book in
      for (client, change) in commit.use { book.change(client, by: change) }
      for change in commit.changes {
        switch change {
        case .accepted(let envelopes):
          for envelope in envelopes {
            if let name = envelope.client { book.note(envelope.entry.client, of: name) }
          }
        case .changed, .coalesced, .unwritten, .endsChanged, .cleared: break
        }
      }
    }
  }

  /// The number of times that clients were forgotten.
  ///
  /// A client's number that was looked up before the last of them may stand for nobody any more.
  package var forgettingCount: UInt64 { forgettings.load(ordering: .acquiring) }

  // MARK: - Claims

  /// Returns true if a client's own quota counts what waits.
  package func isLimited(_ name: String) -> Bool { rules.waiting(of: name).isLimited }

  /// Begins a client's claim; see ``QuotaBook/begin(_:)``.
  package func begin(_ name: String) { book.withLock { $0.begin(name) } }

  /// What counts against the quotas of a client and of all: what waits, and what is claimed.
  func used(
    by name: String, _ number: ClientNumber?
  ) -> (byClient: WaitingUse, byAll: WaitingUse) {
    book.withLock { ($0.used(by: name, number), $0.used) }
  }

  /// Claims room for a post of a client whose claim has begun.
  package func claim(
    _ use: WaitingUse, of name: String, _ number: ClientNumber?
  ) throws(QuotaRefusal) {
    let rules = rules
    let quota = rules.waiting(of: name)
    try book.withLock { (book) throws(QuotaRefusal) in
      try book.claim(use, of: name, number, quota: quota, everybody: rules.everybody)
    }
  }

  /// Claims room for what was taken before, whatever the quotas say now; ended as any claim of a
  /// client's.
  func restore(_ use: WaitingUse, of name: String) {
    book.withLock { book in
      book.begin(name)
      // No quota, and so no refusal.
      try? book.claim(use, of: name, nil, quota: WaitingQuota(), everybody: WaitingQuota())
    }
  }

  /// Claims room for a post of a client that has no quota of its own.
  package func claim(_ use: WaitingUse) throws(QuotaRefusal) {
    let rules = rules
    try book.withLock { (book) throws(QuotaRefusal) in
      try book.claim(use, everybody: rules.everybody)
    }
  }

  /// Ends a client's claim.
  package func release(_ use: WaitingUse, of name: String) {
    book.withLock { $0.release(use, of: name) }
  }

  /// Ends a claim for a client that has no quota of its own.
  package func release(_ use: WaitingUse) { book.withLock { $0.release(use) } }

  /// Looks whether anything at all can be taken.
  package func checkRoom() throws(QuotaRefusal) {
    let rules = rules
    try book.withLock { (book) throws(QuotaRefusal) in
      try book.check(WaitingUse(count: 1, bytes: 1), everybody: rules.everybody)
    }
  }

  // MARK: - Requests

  /// Counts a request, whoever sends it.
  package func countRequest(at now: MonotonicTime) throws(QuotaRefusal) {
    guard let limit = rules.everybodyRate else { return }
    let wait = rates.withLock { $0.everybody.take(limit, at: now) }
    if wait > 0 { throw Self.refusal(limit, isOfClient: false, waitNs: wait) }
  }

  /// Counts a request of a client.
  package func countRequest(of client: String, at now: MonotonicTime) throws(QuotaRefusal) {
    guard let limit = rules.rate(of: client) else { return }
    var hasher = Hasher()
    hasher.combine(client)
    let name = UInt64(bitPattern: Int64(hasher.finalize()))
    let wait = rates.withLock { $0.clients.take(name, limit, at: now) }
    if wait > 0 { throw Self.refusal(limit, isOfClient: true, waitNs: wait) }
  }

  private static func refusal(
    _ limit: RateLimit, isOfClient: Bool, waitNs: Int64
  ) -> QuotaRefusal {
    QuotaRefusal(
      limit: .requests, isOfClient: isOfClient, max: limit.perSecond,
      waitMs: waitNs / 1_000_000 + 1)
  }
}

extension QuotaKeeper: CommitListener {
  /// Keeps the account of what waits of whom.
  package func committed(_ commit: Commit, at now: Now) {
    if commit.hasForgottenClients { forgettings.add(1, ordering: .releasing) }
    if !commit.use.isEmpty { take(commit) }
  }
}
