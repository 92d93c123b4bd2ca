/// When an upstream may be sent the next request, whatever the number under way.
///
/// Three things hold a request back: the configured rate; a wait that the upstream has asked for;
/// and a rate that was learned from its refusals. An upstream that limits its rate refuses what
/// comes too fast, and takes as much again a little later. So each refusal shows how much it takes:
/// what it took lately, and what it took since the refusal before. From then on requests come at a
/// ``LearnedRate``, so that few are refused.
package struct UpstreamPace: Sendable {
  /// The longest time between two refusals from which a rate is learned, in milliseconds.
  static let learningMsMax: Int64 = 60_000
  /// The fewest requests taken in a second from which a rate is learned at the first refusal: one
  /// that comes now and then is not refused because of the others.
  static let learningCountMin = 10.0
  /// The share of what was taken lately that is learned: it may have used up what the upstream had
  /// saved for a burst.
  static let recentShare = 0.85
  /// The refusals in a row below the learned rate after which it is given up: the upstream does not
  /// refuse for the sake of the rate, and would be sent less and less for nothing.
  static let slowRefusalsMax = 5
  /// The share of a learned rate that remains at least after a refusal below it, if but a few were
  /// taken since the one before: the relay itself has sent no more, and held them back.
  static let fewShare = 0.5
  /// The least rate that is learned from a refusal of a client of which nobody knows whether it is
  /// taken otherwise, in requests a second.
  static let untellingMin = 2.0
  /// For how long nothing is learned then, in milliseconds.
  static let givenUpMs: Int64 = 60_000
  /// The most refusals in that time that hold only their lanes, without one more that is taken for
  /// each.
  static let sparingMax = 5
  /// How much of a second's requests may come at once by a learned rate.
  static let learnedBurstShare = 0.02

  /// The time of a wait that there is not.
  private static let always = MonotonicTime(nanoseconds: .min)
  /// The time of an end that only another event brings.
  package static let never = MonotonicTime(nanoseconds: .max)

  private var limit: RateLimit?
  private var bucket = TokenBucket()
  private var learned: LearnedRate?
  private var learnedBucket = TokenBucket()
  /// The requests that are announced and not sent yet.
  ///
  /// Each has a token kept for it, which it takes when it is sent: the announcement may take long
  /// to get to the disk.
  private var announced = 0
  /// The time from which the rates let a request pass.
  private var passesAt = Self.always
  private var heldUntil = Self.always
  private var refusedAt: MonotonicTime?
  /// Refusals in a row that came below the learned rate.
  private var slowRefusals = 0
  private var learnsFrom = Self.always
  private var recent = RecentRate()
  /// The requests that the upstream has taken since it last refused one for coming too fast.
  package private(set) var takenSinceRefusal = 0
  private var blame = ClientBlame()
  /// The refusals that may hold only their lanes while nothing is learned.
  private var sparing = 0
  /// Whether the client that was refused last is taken otherwise, as far as anybody knows.
  private var isTelling = true

  /// Begins without a wait.
  ///
  /// - Parameter limit: The configured rate; nil for none.
  package init(limit: RateLimit?) { self.limit = limit }

  /// Changes the configured rate.
  ///
  /// Whoever sets another one knows more than was learned, which is forgotten.
  package mutating func update(limit: RateLimit?, at now: MonotonicTime) {
    guard limit != self.limit else { return }
    self.limit = limit
    (learned, slowRefusals) = (nil, 0)
    if let limit { bucket.fit(limit, at: now) }
    notePassing(at: now)
  }

  /// The time from which a request may begin; ``never`` while announced ones need all tokens that
  /// there can be.
  package var opensAt: MonotonicTime { max(passesAt, heldUntil) }

  /// The end of the wait that the upstream has asked for; nil if there is none.
  package func heldUntil(at now: MonotonicTime) -> MonotonicTime? {
    heldUntil > now ? heldUntil : nil
  }

  /// The requests a second that may begin at most; nil if nothing limits them.
  package func perSecond(at now: MonotonicTime) -> Double? {
    [limit?.perSecond, learned?.perSecond(at: now)].compactMap { $0 }.min()
  }

  /// Whether that rate was learned from refusals, and is not the configured one.
  package func isLearned(at now: MonotonicTime) -> Bool {
    learned?.perSecond(at: now).map { $0 < limit?.perSecond ?? .infinity } ?? false
  }

  /// Notes that a request begins.
  ///
  /// - Parameter isAnnounced: Whether it is only announced, and will be sent, or not, by
  ///   ``announcementEnded(isSent:at:)``.
  package mutating func began(isAnnounced: Bool = false, at now: MonotonicTime) {
    if isAnnounced { announced += 1 }
    guard limit != nil || learned != nil else { return }
    if let limit, !isAnnounced { _ = bucket.take(limit, at: now) }
    learned?.noteUse(at: now)
    if let rate = learnedLimit(at: now) { _ = learnedBucket.take(rate, at: now) }
    notePassing(at: now)
  }

  /// Notes that an announced request is sent now, or will not be sent.
  package mutating func announcementEnded(isSent: Bool, at now: MonotonicTime) {
    announced -= 1
    guard let limit else { return }
    if isSent { _ = bucket.take(limit, at: now) }
    notePassing(at: now)
  }

  /// Whether clients were refused lately, and are compared with others.
  package var comparesClients: Bool { blame.isInUse }

  /// Notes an answer that does not complain of the pace.
  ///
  /// - Parameters:
  ///   - clients: Those whose envelopes were in the request; only ``comparesClients`` needs them.
  ///   - beganAt: The time at which the request began.
  package mutating func taken(
    from clients: Set<ClientNumber> = [], beganAt: MonotonicTime? = nil, at now: MonotonicTime
  ) {
    takenSinceRefusal += 1
    sparing = min(sparing + 1, Self.sparingMax)
    recent.note(at: now)
    blame.taken(from: clients, beganAt: beganAt ?? now)
  }

  /// Whether the answer that a request came too fast is about its client, or itself, alone: others'
  /// requests are taken meanwhile.
  ///
  /// What was learned from such refusals before that was known is taken back.
  ///
  /// - Parameters:
  ///   - clients: Those whose envelopes were in the request.
  ///   - beganAt: The time at which the request began.
  ///   - waitMs: For how long it is to send none.
  package mutating func isClientsOwn(
    _ clients: Set<ClientNumber>, beganAt: MonotonicTime, waitMs: Int64, at now: MonotonicTime
  ) -> Bool {
    let isSlow = learned?.isSlow(at: now) ?? (now < learnsFrom)
    let verdict = blame.refused(
      clients, beganAt: beganAt, waitMs: waitMs, learned: learned, isSlow: isSlow, at: now)
    isTelling = clients.count != 1 || clients.contains(where: blame.isTakenOtherwise)
    switch verdict {
    case .ofUpstream: return spares(at: now)
    case .ofClient: return true
    case .ofClientAllAlong(let before):
      (learned, slowRefusals) = (before, 0)
      notePassing(at: now)
      return true
    }
  }

  /// Whether a refusal holds only its lane, since the rate does not explain refusals, and more is
  /// taken than refused.
  private mutating func spares(at now: MonotonicTime) -> Bool {
    guard now < learnsFrom, sparing >= 1 else { return false }
    sparing -= 1
    return true
  }

  /// Whether a client is known to be refused for itself.
  package func limits(_ client: ClientNumber, at now: MonotonicTime) -> Bool {
    blame.isOwn(client, at: now)
  }

  /// Notes an answer that says that requests come too fast.
  ///
  /// - Parameters:
  ///   - beganAt: The time at which its request began. One that began before the last refusal came
  ///     says nothing new about the rate.
  ///   - waitMs: For how long no request may begin.
  ///   - isForRate: Whether the rate is to be learned from it.
  /// - Returns: Whether the upstream has begun to refuse.
  package mutating func refused(
    beganAt: MonotonicTime, waitMs: Int64, isForRate: Bool = true, at now: MonotonicTime
  ) -> Bool {
    heldUntil = max(heldUntil, now.adding(milliseconds: waitMs))
    if let refusedAt, beganAt <= refusedAt { return false }
    if isForRate { learn(at: now) }
    refusedAt = now
    takenSinceRefusal = 0
    sparing = 0
    return true
  }

  /// Ends the wait that the upstream has asked for, since somebody wants to know at once whether it
  /// takes requests again.
  package mutating func endWait() { heldUntil = Self.always }

  private mutating func learn(at now: MonotonicTime) {
    let isSlow = learned?.isSlow(at: now) ?? false
    slowRefusals = isSlow ? slowRefusals + 1 : 0
    if slowRefusals >= Self.slowRefusalsMax {
      (learned, slowRefusals) = (nil, 0)
      learnsFrom = now.adding(milliseconds: Self.givenUpMs)
    } else if now >= learnsFrom, let peak = peak(at: now) {
      let isFew = isSlow && Double(takenSinceRefusal) < Self.learningCountMin
      let least = isFew ? (learned?.peak ?? 0) * Self.fewShare : 0
      learned = LearnedRate(
        peak: max(peak, least, isTelling ? 0 : Self.untellingMin), since: heldUntil)
    }
  }

  /// The rate that a refusal shows; nil if it shows none.
  private func peak(at now: MonotonicTime) -> Double? {
    let lately = recent.perSecond(at: now)
    var peaks: [Double] = []
    if let refusedAt, takenSinceRefusal > 0,
      case let elapsedMs = now.milliseconds(since: refusedAt),
      (1...Self.learningMsMax).contains(elapsedMs)
    {
      peaks = [Double(takenSinceRefusal) * 1000 / Double(elapsedMs), lately * Self.recentShare]
    } else if lately >= Self.learningCountMin {
      peaks = [lately * Self.recentShare]
    }
    return peaks.max()
  }

  private mutating func learnedLimit(at now: MonotonicTime) -> RateLimit? {
    guard let rate = learned?.perSecond(at: now) else {
      learned = nil
      return nil
    }
    return RateLimit(
      perSecond: rate, burst: max(1, Int(min(rate * Self.learnedBurstShare, 1_000_000))))
  }

  private mutating func notePassing(at now: MonotonicTime) {
    if let limit, announced >= limit.burst {
      passesAt = Self.never
      return
    }
    let waitNs = max(
      limit.map { bucket.waitNs(for: $0, tokens: announced + 1, at: now) } ?? 0,
      learnedLimit(at: now).map { learnedBucket.waitNs(for: $0, at: now) } ?? 0)
    passesAt =
      waitNs == 0
      ? Self.always : MonotonicTime(nanoseconds: now.nanoseconds.addingSaturated(waitNs))
  }
}

/// A rate that was learned from refusals, and grows until the next one.
///
/// It begins below the rate at which the upstream refused, comes near to it evenly, and then tries
/// more and more, as a sender on a network does after a loss (RFC 9438 section 4.2, in another
/// shape). Only time in which requests come counts for that: what is not sent shows nothing
/// (RFC 7661). Once it has passed the rate far without a refusal, it is forgotten: the upstream's
/// limit is another one now.
struct LearnedRate: Sendable, Equatable {
  /// The share of the peak with which it begins.
  static let beginning = 0.7
  /// The time in which it reaches the peak, in milliseconds.
  static let recoveryMs: Int64 = 5000
  /// How many times the peak it is forgotten at, if that is ``forgottenRateMin`` or more.
  static let forgottenAt = 4.0
  /// The least rate that is forgotten, in requests a second: a lower one may be an upstream's that
  /// takes one after the other, and is found by growing.
  static let forgottenRateMin = 100.0
  /// The least requests a second.
  static let least = 0.2

  /// The time without a request from which on it does not grow, in milliseconds, or else in places
  /// of the rate.
  static let idleMsMin: Int64 = 100
  static let idlePlaces = 2.0

  /// The requests a second at which the upstream refused.
  let peak: Double
  /// The time from which requests may come again, later by all the time in which none came.
  private var since: MonotonicTime
  /// The time up to which it grows, unless another request comes.
  private var growsUntil: MonotonicTime

  /// Learns a rate.
  ///
  /// - Parameter since: The time from which requests may come again.
  init(peak: Double, since: MonotonicTime) {
    self.peak = peak
    self.since = since
    growsUntil = since.adding(milliseconds: Self.idleMs(peak: peak))
  }

  private static func idleMs(peak: Double) -> Int64 {
    max(idleMsMin, Int64(idlePlaces * 1000 / max(peak * beginning, least)))
  }

  /// Notes that a request begins.
  mutating func noteUse(at now: MonotonicTime) {
    let idleMs = now.milliseconds(since: growsUntil)
    if idleMs > 0 { since = since.adding(milliseconds: idleMs) }
    growsUntil = max(growsUntil, now.adding(milliseconds: Self.idleMs(peak: peak)))
  }

  /// Whether it has not reached the peak, or is the least, which may be above the peak.
  func isSlow(at now: MonotonicTime) -> Bool {
    guard let rate = perSecond(at: now) else { return false }
    return rate < peak || rate <= Self.least
  }

  /// The rate at a time; nil if it is to be forgotten.
  func perSecond(at now: MonotonicTime) -> Double? {
    let usedMs = max(0, min(now, growsUntil).milliseconds(since: since))
    let time = Double(usedMs) / Double(Self.recoveryMs)
    let share =
      time < 1 ? Self.beginning + (1 - Self.beginning) * time : 1 + (time - 1) * (time - 1)
    let rate = max(peak * share, Self.least)
    return share > Self.forgottenAt && rate >= Self.forgottenRateMin ? nil : rate
  }
}

/// How many requests there were in the last second, without a list of them: what remains of the
/// second before counts by the share of it that is not over.
struct RecentRate: Sendable {
  private var second: Int64 = .min
  private var count = 0
  private var countBefore = 0

  mutating func note(at now: MonotonicTime) {
    turn(to: Self.second(of: now))
    count += 1
  }

  /// The number in the last second.
  func perSecond(at now: MonotonicTime) -> Double {
    var copy = self
    copy.turn(to: Self.second(of: now))
    let past = Double(now.nanoseconds - copy.second * Self.secondNs) / Double(Self.secondNs)
    return Double(copy.count) + Double(copy.countBefore) * (1 - past)
  }

  private mutating func turn(to second: Int64) {
    guard second != self.second else { return }
    countBefore = second - 1 == self.second ? count : 0
    count = 0
    self.second = second
  }

  private static let secondNs: Int64 = 1_000_000_000
  private static func second(of time: MonotonicTime) -> Int64 {
    // Rounded down, before the clock's start as well.
    (time.nanoseconds - (time.nanoseconds < 0 ? secondNs - 1 : 0)) / secondNs
  }
}
