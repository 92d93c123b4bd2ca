import RelayCore

/// Room for the envelopes of one post, claimed one by one and held until they are stored.
///
/// Whoever makes one says by a `defer` how long the claims are held; `deinit` is there for what
/// that may miss, and to keep the type from being copied.
struct QuotaClaim: ~Copyable {
  private let context: EndpointContext
  private let sender: String?
  private var quotas: QuotaKeeper { context.relay.quotas }
  /// The claim for clients that have no quota of their own.
  private var shared = WaitingUse()
  /// The claims for clients that have a quota of their own.
  private var claims: [String: Claim] = [:]
  /// Clients whose request was counted, and what came of that.
  private var counted: [String: QuotaRefusal?] = [:]

  private struct Claim {
    var number: ClientNumber?
    var use = WaitingUse()
  }

  /// Looks whether anything can be taken at all, so that a body need not even be read.
  ///
  /// - Parameter sender: The client that a credential says, whose request was counted before.
  /// - Throws: `draining`, `disk-full`, `overloaded` or `queue-full`.
  @inline(never)
  init(_ context: EndpointContext, sender: String?) throws(Problem) {
    guard !context.relay.isDraining else { throw .draining() }
    if let lack = context.relay.embedded?.lackOfRoom { throw Problem(lack) }
    if let refusal = context.relay.admission.refusal() { throw .overloaded(refusal) }
    do throws(QuotaRefusal) {
      try context.relay.quotas.checkRoom()
    } catch {
      throw context.overQuota(error, client: nil)
    }
    self.sender = sender
    self.context = context
  }

  deinit { release() }

  /// Gives back what was claimed.
  mutating func giveBack() {
    release()
    claims = [:]
    shared = WaitingUse()
  }

  /// The number of bytes that are claimed.
  var takenBytes: Int64 { claims.values.reduce(shared.bytes) { $0 + $1.use.bytes } }

  /// Hands what was claimed over to who holds it on; nothing is claimed here any more.
  mutating func handOver() -> HeldClaim {
    let held = HeldClaim(own: claims.mapValues(\.use), shared: shared)
    claims = [:]
    shared = WaitingUse()
    return held
  }

  private func release() {
    // Most clients have no quota of their own: then there is nothing to go through.
    if !claims.isEmpty {
      for (client, claim) in claims { quotas.release(claim.use, of: client) }
    }
    if !shared.isNothing { quotas.release(shared) }
  }

  /// For a change of an envelope that the relay has already, be there ever so much to do.
  ///
  /// - Throws: `draining`.
  init(steering context: EndpointContext) throws(Problem) {
    guard !context.relay.isDraining else { throw .draining() }
    sender = nil
    self.context = context
  }

  /// Takes room for one envelope, and counts the request of its client.
  ///
  /// - Parameter bytes: Of its body, headers and target, as far as they are known.
  /// - Throws: `rate-limited`, `client-queue-full` or `queue-full`.
  mutating func take(for client: String, bytes: Int64) async throws(Problem) {
    try count(client)
    try await claim(WaitingUse(count: 1, bytes: bytes), for: client)
  }

  /// Takes room for an envelope that is put back in line; nothing is posted by that.
  ///
  /// - Throws: `client-queue-full` or `queue-full`.
  mutating func takeAgain(for client: String, bytes: Int64) async throws(Problem) {
    try await claim(WaitingUse(count: 1, bytes: bytes), for: client)
  }

  /// Takes room for so many bytes more of an envelope that has its place, or that waits already.
  ///
  /// - Throws: `client-queue-full` or `queue-full`.
  mutating func take(moreBytes bytes: Int64, for client: String) async throws(Problem) {
    guard bytes > 0 else { return }
    try await claim(WaitingUse(bytes: bytes), for: client)
  }

  /// One post is one request of each client that it names.
  @inline(never)
  private mutating func count(_ client: String) throws(Problem) {
    guard client != sender, quotas.rules.rate(of: client) != nil else { return }
    if counted[client] == nil {
      do throws(QuotaRefusal) {
        try quotas.countRequest(of: client, at: context.relay.now().monotonic)
        counted[client] = .some(nil)
      } catch {
        counted[client] = error
      }
    }
    if let refusal = counted[client] ?? nil { throw context.overQuota(refusal, client: client) }
  }

  private mutating func claim(_ use: WaitingUse, for client: String) async throws(Problem) {
    if quotas.isLimited(client) {
      try await claimOwn(use, for: client)
    } else {
      try claimShared(use, for: client)
    }
  }

  @inline(never)
  private mutating func claimShared(_ use: WaitingUse, for client: String) throws(Problem) {
    do throws(QuotaRefusal) {
      try quotas.claim(use)
      shared += use
    } catch {
      throw context.overQuota(error, client: client)
    }
  }

  @inline(never)
  private mutating func claimOwn(
    _ use: WaitingUse, for client: String
  ) async throws(Problem) {
    if claims[client] == nil {
      quotas.begin(client)
      claims[client] = Claim()
      let number = try await number(of: client)
      claims[client]?.number = number
    }
    let number = claims[client]?.number
    do throws(QuotaRefusal) {
      try quotas.claim(use, of: client, number)
      claims[client]?.use += use
    } catch {
      throw context.overQuota(error, client: client, number)
    }
  }

  private func number(of client: String) async throws(Problem) -> ClientNumber? {
    do throws(StoreError) {
      return try await context.clientNumbers.number(
        of: client, in: context.store, forgettingCount: context.relay.quotas.forgettingCount)
    } catch {
      throw context.problem(error)
    }
  }
}
