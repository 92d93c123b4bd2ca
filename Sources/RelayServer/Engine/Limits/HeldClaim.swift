import RelayCore

/// Room that was claimed of the quotas, and is held for longer than a request takes.
struct HeldClaim: Sendable {
  /// A claim of a client that has a quota of its own.
  private var own: [String: (use: WaitingUse, holders: Int)] = [:]
  private var shared = WaitingUse()

  /// Nothing.
  init() {}

  /// Takes over what a post has claimed.
  init(own: [String: WaitingUse], shared: WaitingUse) {
    self.own = own.mapValues { ($0, 1) }
    self.shared = shared
  }

  /// Claims room for what is there already, whatever the quotas say now.
  init(_ use: WaitingUse, of client: String, from quotas: QuotaKeeper) {
    quotas.restore(use, of: client)
    own = [client: (use, 1)]
  }

  /// What is claimed.
  var use: WaitingUse { own.values.reduce(shared) { $0 + $1.use } }

  /// Holds another claim as well.
  mutating func add(_ other: HeldClaim) {
    shared += other.shared
    for (client, more) in other.own {
      let former = own[client] ?? (WaitingUse(), 0)
      own[client] = (former.use + more.use, former.holders + more.holders)
    }
  }

  /// Gives everything back.
  func release(to quotas: QuotaKeeper) {
    for (client, claim) in own {
      quotas.release(claim.use, of: client)
      for _ in 1..<max(1, claim.holders) { quotas.release(WaitingUse(), of: client) }
    }
    if !shared.isNothing { quotas.release(shared) }
  }
}
