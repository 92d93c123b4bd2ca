/// Decides when an access token is fetched, and which attempts wait for one (RFC 6749 section 4.4).
///
/// A value that is told of attempts, answers and the time. All attempts of an upstream share one
/// token, which is known here by its number alone. One fetch is under way at a time. It is begun
/// when an attempt needs it, so that an idle relay fetches nothing: before the token's end, while
/// the old one is still used, or, after that, while attempts wait.
package struct TokenKeeper: Sendable {
  /// The limits of tokens and fetches, in milliseconds.
  package struct Limits: Sendable {
    /// The longest time before a token's end at which another one is fetched.
    package var renewAheadMs: Int64 = 60_000
    /// The longest time before a token's end at which it is not used any more.
    package var marginMs: Int64 = 5_000
    /// The lifetime of a token that comes without one.
    package var unstatedLifetimeMs: Int64 = 300_000
    /// The longest lifetime that is believed.
    package var lifetimeMsMax: Int64 = 86_400_000
    /// The least time from a failed fetch to the next one.
    package var retryMs: Int64 = 1000
    /// The longest such time that the server may ask for.
    package var retryMsMax: Int64 = 60_000
    /// The least time between two tokens that are thrown away although the upstream has accepted
    /// neither, and from one that was thrown away for nothing to the next.
    package var rejectionMs: Int64 = 10_000
    /// The most attempts of which an early 401 is remembered.
    package var doubtfulCountMax = 1024

    /// The defaults.
    package init() {}
  }

  /// The reason that there is no token.
  package struct Failure: Sendable, Equatable {
    /// Whether the server refuses the relay's credentials, so that somebody has to act.
    package let isRefusal: Bool
    /// The reason in words.
    package let reason: String

    /// Describes a failure.
    package init(isRefusal: Bool, reason: String) {
      self.isRefusal = isRefusal
      self.reason = reason
    }
  }

  /// What becomes of an attempt that needs a token.
  package enum Admission: Sendable, Equatable {
    /// It is sent with the token of this number.
    case send(token: Int)
    /// It waits; ``TokenKeeper/granted(lifetimeMs:at:)`` or
    /// ``TokenKeeper/failed(_:retryAfterMs:at:)`` lets it go.
    case wait
    /// There is no token for it.
    case fail(Failure)
  }

  /// What a 401 means for an attempt with a token (RFC 6750 section 3.1).
  package enum Rejection: Sendable, Equatable {
    /// It goes on with another token.
    case another(Admission)
    /// It stands: the token is good, or another one would not be taken either.
    case stands
    /// Nobody knows yet whether the token or the envelope is meant: it is tried again later.
    case unclear
  }

  private struct Token {
    let number: Int
    let renewAt: MonotonicTime
    let endsAt: MonotonicTime
    /// The latest beginning of an attempt with it that the upstream answered otherwise than with
    /// 401; nil if it never did.
    var acceptedAt: MonotonicTime?
  }

  private let limits: Limits
  private var token: Token?
  private var lastNumber = 0
  private var fetchBeganAt: MonotonicTime?
  private var isFetchDue = false
  private var waiting: [Serial] = []
  private var failure: (reason: Failure, until: MonotonicTime)?
  private var rejectedAt: MonotonicTime?
  /// The time at which a fresh token was rejected like the one before it.
  private var wastedAt: MonotonicTime?
  /// When attempts with the present token were answered by an unclear 401.
  private var doubtful: [Serial: MonotonicTime] = [:]

  /// Starts without a token.
  package init(limits: Limits = Limits()) { self.limits = limits }

  /// Whether a fetch is to begin now; asked after each event, and true once for each fetch.
  package mutating func takeFetch() -> Bool {
    defer { isFetchDue = false }
    return isFetchDue
  }

  /// Notes that an attempt needs a token.
  package mutating func admit(_ serial: Serial, at now: MonotonicTime) -> Admission {
    if let token, now < token.endsAt {
      if now >= token.renewAt, fetchBeganAt == nil, reasonToWait(at: now) == nil {
        beginFetch(at: now)
      }
      return .send(token: token.number)
    }
    if fetchBeganAt == nil {
      if let reason = reasonToWait(at: now) { return .fail(reason) }
      beginFetch(at: now)
    }
    waiting.append(serial)
    return .wait
  }

  /// Notes that waiting attempts were called off.
  package mutating func withdraw(_ isMeant: (Serial) -> Bool) { waiting.removeAll(where: isMeant) }

  /// Notes that the fetch has brought a token, which has this number from now on.
  ///
  /// - Parameter lifetimeMs: How long it is valid; nil if the server does not say. It counts from
  ///   the beginning of the fetch, since the server's clock began at some time after that.
  /// - Returns: The token's number, and the attempts that have waited for it.
  package mutating func granted(
    lifetimeMs: Int64?, at now: MonotonicTime
  ) -> (token: Int, attempts: [Serial]) {
    let beganAt = fetchBeganAt ?? now
    let lifetime = min(max(lifetimeMs ?? limits.unstatedLifetimeMs, 0), limits.lifetimeMsMax)
    lastNumber += 1
    token = Token(
      number: lastNumber,
      renewAt: beganAt.adding(milliseconds: lifetime - min(limits.renewAheadMs, lifetime / 4)),
      endsAt: beganAt.adding(milliseconds: lifetime - min(limits.marginMs, lifetime / 10)))
    fetchBeganAt = nil
    failure = nil
    doubtful = [:]
    defer { waiting = [] }
    // Even one that ends at once serves those that have waited for it.
    return (lastNumber, waiting)
  }

  /// Notes that the fetch has brought none; a token that is still valid is used on.
  ///
  /// - Parameter retryAfterMs: For how long the server asks to be left alone.
  /// - Returns: The attempts that have waited for it, and fail.
  package mutating func failed(
    _ reason: Failure, retryAfterMs: Int64? = nil, at now: MonotonicTime
  ) -> [Serial] {
    let pause = min(max(retryAfterMs ?? 0, limits.retryMs), limits.retryMsMax)
    failure = (reason, now.adding(milliseconds: pause))
    fetchBeganAt = nil
    defer { waiting = [] }
    return waiting
  }

  /// Ends the wait after a failed fetch, since somebody wants to know whether it would do now.
  package mutating func askAnew() { failure = nil }

  /// Notes that the upstream has answered an attempt with a token otherwise than with 401.
  ///
  /// - Parameter beganAt: The attempt's beginning: at that time the token was still good.
  package mutating func accepted(token number: Int, beganAt: MonotonicTime) {
    guard let token, token.number == number else { return }
    self.token?.acceptedAt = max(token.acceptedAt ?? beganAt, beganAt)
  }

  /// Notes that the upstream has answered an attempt with 401.
  ///
  /// An upstream that answers every token so, or every envelope of one client, would have one
  /// fetched for each attempt. So a token that was never accepted is thrown away now and then only.
  /// So is one that is accepted, once another one in its place has changed nothing: an attempt is
  /// then tried again later, and its 401 stands if the token was accepted meanwhile.
  package mutating func rejected(
    _ serial: Serial, token number: Int, at now: MonotonicTime
  ) -> Rejection {
    guard let token, token.number == number else { return .another(admit(serial, at: now)) }
    let doubtedAt = doubtful.removeValue(forKey: serial)
    if let acceptedAt = token.acceptedAt {
      if let doubtedAt, acceptedAt > doubtedAt { return .stands }
      if isRecent(wastedAt, at: now) {
        if doubtful.count >= limits.doubtfulCountMax { doubtful = [:] }
        doubtful[serial] = now
        return .unclear
      }
    } else if isRecent(rejectedAt, at: now) {
      return .stands
    }
    rejectedAt = now
    guard token.acceptedAt != nil, now < token.endsAt else {
      self.token = nil
      return .another(admit(serial, at: now))
    }
    // Others go on with it meanwhile: the refusal may be one client's alone.
    if fetchBeganAt == nil {
      guard reasonToWait(at: now) == nil else { return .unclear }
      beginFetch(at: now)
    }
    waiting.append(serial)
    return .another(.wait)
  }

  /// Notes that an attempt that went on with another token was answered with 401 as before.
  package mutating func rejectedAgain(at now: MonotonicTime) { wastedAt = now }

  private func isRecent(_ time: MonotonicTime?, at now: MonotonicTime) -> Bool {
    time.map { now.milliseconds(since: $0) < limits.rejectionMs } ?? false
  }

  private mutating func beginFetch(at now: MonotonicTime) {
    fetchBeganAt = now
    isFetchDue = true
  }

  private func reasonToWait(at now: MonotonicTime) -> Failure? {
    failure.flatMap { now < $0.until ? $0.reason : nil }
  }
}
