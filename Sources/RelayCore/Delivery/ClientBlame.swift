/// Whose limit an upstream's refusals are about: its own, or one client's.
///
/// An upstream that limits what it takes from everybody refuses whoever comes too much: clients
/// are refused about as often as each other. One that limits each client refuses one, and takes
/// what others send meanwhile. So a client's refusals are its own if so many of others' requests
/// were answered since its first one that some should have been refused as well, and hardly any
/// were. They are also its own if it alone is refused again at a lower rate than the upstream has
/// taken before. Until then they count as the upstream's, and from then on until others are refused
/// as well. Clients that are hardly ever taken do not count as others: they may be limited, too.
///
/// A pure value. It remembers a bounded number of clients, those that were refused lately.
struct ClientBlame: Sendable {
  /// The most clients that are remembered.
  static let clientsMax = 64
  /// For how long a client is remembered after its last refusal, in milliseconds, or for twice the
  /// wait that it was asked for, if that is longer.
  static let memoryMs: Int64 = 60_000
  /// The least number of others' requests that should have been refused, if the limit were the
  /// upstream's.
  static let expectedMin = 5.0
  /// The share of that number which may have been refused all the same.
  static let refusedShareMax = 0.25
  /// The refusals after which what was counted before counts half.
  static let refusalsMax = 16.0
  /// The most of others' answers that count then.
  static let othersMax = 512.0
  /// The refusals in a row, without one of others that was taken, after which nobody is known to be
  /// limited for itself.
  static let inARowMax = 200
  /// The refusals of a client, each at a lower rate than the upstream has taken before, that tell
  /// of the client alone if others were refused none.
  static let slowMin = 2
  /// The requests that have to be taken for one refusal of a client of which nothing is known yet,
  /// once the upstream has shown that it limits clients.
  static let takenPerPass = 5.0
  /// The most such refusals at once.
  static let passesMax = 3.0

  /// The meaning of a refusal.
  enum Verdict: Sendable, Equatable {
    /// The upstream wants less from everybody, as far as is known.
    case ofUpstream
    /// The client alone is refused.
    case ofClient
    /// The same, and its refusals before this one counted as the upstream's: what was learned from
    /// them is wrong. This is what was known before.
    case ofClientAllAlong(LearnedRate?)
  }

  private struct Tally: Sendable {
    var counts = Counts()
    /// Those of its refusals that stand in what was counted of all.
    var inTotal = 0.0
    /// All that was counted when this began, so that the rest is others'.
    var base: Counts
    /// The rate that was known before the first refusal.
    var learned: LearnedRate?
    /// Its refusals in a row that the rate does not explain; nil once these have shown something
    /// wrong.
    var slow: Int? = 0
    /// The rate that was known before the first of them.
    var slowLearned: LearnedRate?
    /// The time of the last refusal that counted.
    var lastAt: MonotonicTime
    /// The time at which it is forgotten.
    var endsAt: MonotonicTime
    var isOwn = false
    /// Whether nothing but the rate shows that.
    var isOwnBySlow = false

    /// Whether it is hardly ever taken, since it was refused first.
    var isHardlyTaken: Bool { counts.refused > 4 * counts.taken }
  }

  private struct Counts: Sendable {
    var taken = 0.0
    var refused = 0.0

    static func - (left: Counts, right: Counts) -> Counts {
      Counts(taken: left.taken - right.taken, refused: left.refused - right.refused)
    }
    var all: Double { taken + refused }
    mutating func scale(by factor: Double) {
      taken *= factor
      refused *= factor
    }
  }

  /// Refusals of requests that were under way together: what was counted before, and when the
  /// first of them came.
  private struct Burst: Sendable {
    var base: Counts
    var at: MonotonicTime
  }

  private var tallies: [ClientNumber: Tally] = [:]
  private var total = Counts()
  private var burst: Burst?
  private var passes = 0.0
  /// Those who were in each request of several clients that was refused, and in none that was
  /// taken since.
  private var suspects: Set<ClientNumber> = []
  /// The refusals since somebody was taken who is not known to be limited.
  private var refusedInARow = 0

  /// Whether anything is remembered.
  var isInUse: Bool { !tallies.isEmpty || !suspects.isEmpty }

  /// Whether the client's refusals are known to be its own.
  func isOwn(_ client: ClientNumber, at now: MonotonicTime) -> Bool {
    guard let tally = tallies[client] else { return false }
    return tally.isOwn && tally.endsAt > now
  }

  /// Notes that a request was taken.
  ///
  /// - Parameters:
  ///   - clients: Those whose envelopes were in it.
  ///   - beganAt: The time at which it began. What was under way when the first of some refusals
  ///     came may have been taken before that.
  mutating func taken(from clients: Set<ClientNumber>, beganAt: MonotonicTime) {
    guard isInUse, burst.map({ beganAt > $0.at }) ?? true else { return }
    suspects.subtract(clients)
    total.taken += Double(clients.count)
    passes = min(passes + 1 / Self.takenPerPass, Self.passesMax)
    for client in clients {
      tallies[client]?.counts.taken += 1
      if tallies[client].map({ !speaksOfItself($0) }) ?? true { refusedInARow = 0 }
    }
  }

  /// Notes that a request was refused for coming too fast.
  ///
  /// - Parameters:
  ///   - clients: Those whose envelopes were in it. Of several it is the one that was refused each
  ///     time before, by itself or among others, or else nobody knows.
  ///   - beganAt: The time at which it began: those that were under way together count as one.
  ///   - waitMs: For how long the upstream wants no more.
  ///   - learned: The rate that is known.
  ///   - isSlow: Whether the upstream has taken more than the present rate before.
  mutating func refused(
    _ clients: Set<ClientNumber>, beganAt: MonotonicTime, waitMs: Int64, learned: LearnedRate?,
    isSlow: Bool, at now: MonotonicTime
  ) -> Verdict {
    guard let client = clients.count == 1 ? clients.first : suspect(among: clients) else {
      if !tallies.isEmpty { total.refused += 1 }
      return .ofUpstream
    }
    var tally = remembered(client, beganAt: beganAt, learned, at: now)
    if tally.counts.refused == 0 || beganAt > tally.lastAt {
      count(&tally, at: now)
      noteSlow(&tally, isSlow, learned)
    }
    let memoryMs = max(Self.memoryMs, waitMs.addingSaturated(waitMs))
    tally.endsAt = max(tally.endsAt, now.adding(milliseconds: memoryMs))
    let wasOwn = tally.isOwn
    judge(&tally, of: client)
    tallies[client] = tally
    if tally.isOwn {
      guard !wasOwn, speakers(except: client) == 0 else { return .ofClient }
      return takeBack(to: tally.isOwnBySlow ? tally.slowLearned : tally.learned, since: tally)
    }
    guard passes >= 1, tally.counts.taken == 0, limitsClients(except: client, at: now) else {
      return .ofUpstream
    }
    passes -= 1
    return .ofClient
  }

  /// Finds out whether a client's refusals are its own; once they are, they remain so until others
  /// are refused as well.
  private mutating func judge(_ tally: inout Tally, of client: ClientNumber) {
    let others = others(than: client, tally)
    if tally.isOwn {
      if isRefuted(tally, self.others(than: client, tally, refusalsMin: 2)) {
        (tally.isOwn, tally.isOwnBySlow, tally.slow) = (false, false, nil)
      }
    } else if refusedInARow < Self.inARowMax {
      let isByShare = isOwn(tally, others)
      tally.isOwnBySlow = !isByShare && isSlowAlone(tally, others)
      tally.isOwn = isByShare || tally.isOwnBySlow
    }
    if min(tally.counts.refused, others.all) >= Self.refusalsMax { halve(&tally) }
  }

  /// Whether more clients are known to be limited for themselves than may be by everybody's limit.
  private func limitsClients(except client: ClientNumber, at now: MonotonicTime) -> Bool {
    tallies.values.count { $0.isOwn && $0.endsAt > now } > speakers(except: client)
  }

  /// How many clients were refused that are taken otherwise.
  private func speakers(except client: ClientNumber) -> Int {
    tallies.count { $0.key != client && !$0.value.isOwn && !$0.value.isHardlyTaken }
  }

  private mutating func takeBack(to learned: LearnedRate?, since tally: Tally) -> Verdict {
    for (other, its) in tallies where its.base.taken >= tally.base.taken {
      tallies[other]?.learned = learned
      tallies[other]?.slowLearned = learned
    }
    return .ofClientAllAlong(learned)
  }

  /// Notes whether the rate explains a refusal.
  private func noteSlow(_ tally: inout Tally, _ isSlow: Bool, _ learned: LearnedRate?) {
    guard let count = tally.slow else { return }
    if isSlow, count == 0 { tally.slowLearned = learned }
    tally.slow = isSlow ? count + 1 : 0
  }

  /// Whether a client was taken since it was first refused: so its refusals may be about the rate.
  func isTakenOtherwise(_ client: ClientNumber) -> Bool {
    tallies[client].map { $0.counts.taken > 0 } ?? false
  }

  /// Counts a refusal of a client's; those that are its own are none of the upstream's.
  private mutating func count(_ tally: inout Tally, at now: MonotonicTime) {
    refusedInARow += 1
    tally.counts.refused += 1
    tally.lastAt = now
    guard !tally.isOwn else {
      tally.base.refused -= 1
      return
    }
    tally.inTotal += 1
    total.refused += 1
  }

  /// The client that was never taken since it was refused by itself, or the only one that was in
  /// each request that was refused; nil if there is none.
  private mutating func suspect(among clients: Set<ClientNumber>) -> ClientNumber? {
    let refused = clients.filter { client in
      tallies[client].map { $0.isOwn || $0.counts.taken == 0 } ?? false
    }.min()
    guard refused == nil, clients.count <= Self.clientsMax else { return refused }
    let common = suspects.intersection(clients)
    suspects = common.isEmpty ? clients : common
    return common.count == 1 ? common.first : nil
  }

  private mutating func remembered(
    _ client: ClientNumber, beganAt: MonotonicTime, _ learned: LearnedRate?, at now: MonotonicTime
  ) -> Tally {
    if let tally = tallies[client], tally.endsAt > now { return tally }
    tallies[client] = nil
    makeRoom(at: now)
    if tallies.isEmpty { (total, burst, passes) = (Counts(), nil, 0) }
    if burst.map({ beganAt > $0.at }) ?? true { burst = Burst(base: total, at: now) }
    return Tally(base: burst?.base ?? total, learned: learned, lastAt: now, endsAt: now)
  }

  private mutating func makeRoom(at now: MonotonicTime) {
    guard tallies.count >= Self.clientsMax else { return }
    tallies = tallies.filter { $0.value.endsAt > now }
    guard tallies.count >= Self.clientsMax,
      let oldest = tallies.min(by: { $0.value.lastAt < $1.value.lastAt })
    else { return }
    tallies[oldest.key] = nil
  }

  /// Whether others were refused less often than by chance, if the limit were everybody's, and this
  /// client more often.
  private func isOwn(_ tally: Tally, _ others: Counts) -> Bool {
    let own = tally.counts
    guard own.refused >= 2, others.all > 0 else { return false }
    let expected = others.all * own.refused / own.all
    let expectedOwn = own.all * others.refused / others.all
    return expected >= Self.expectedMin && others.refused <= expected * Self.refusedShareMax
      && own.refused >= 1 + expectedOwn + 3 * expectedOwn.squareRoot()
  }

  /// Whether others were refused none, while this client was at a rate that does not explain it.
  private func isSlowAlone(_ tally: Tally, _ others: Counts) -> Bool {
    tally.slow ?? 0 >= Self.slowMin && others.taken >= Self.expectedMin && others.refused == 0
  }

  /// Whether others are refused as well as a client whose refusals were its own.
  private func isRefuted(_ tally: Tally, _ others: Counts) -> Bool {
    if refusedInARow >= Self.inARowMax { return true }
    if tally.isOwnBySlow { return others.refused > 0 }
    let expected = others.all * tally.counts.refused / tally.counts.all
    return others.refused >= 2 && others.refused > expected * Self.refusedShareMax
  }

  /// What others were answered since a client was first refused.
  ///
  /// - Parameter refusalsMin: The refusals after which one that is hardly taken does not count.
  private func others(
    than client: ClientNumber, _ tally: Tally, refusalsMin: Double = 1
  ) -> Counts {
    var others = total - tally.base - tally.counts
    // Others may be limited as well: those who are hardly ever taken speak of themselves.
    for (other, its) in tallies where other != client && speaksOfItself(its, refusalsMin) {
      others.refused -= its.inTotal
      others.taken -= its.counts.taken
    }
    others.taken = max(0, others.taken)
    others.refused = max(0, others.refused)
    return others
  }

  private func speaksOfItself(_ tally: Tally, _ refusalsMin: Double = 1) -> Bool {
    tally.isOwn || (tally.isHardlyTaken && tally.counts.refused >= refusalsMin)
  }

  /// Has what was counted before count half, so that what changes is found out.
  private func halve(_ tally: inout Tally) {
    var others = total - tally.base - tally.counts
    others.scale(by: min(0.5, Self.othersMax / max(others.all, 1)))
    tally.counts.scale(by: 0.5)
    tally.base = total - others - tally.counts
  }
}
