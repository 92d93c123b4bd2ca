/// When something may be sent: what is known of the connection, and how long to stay away.
///
/// A value that is told what happens and at what time. Times are milliseconds since the device was
/// started.
struct Sender: Sendable {
  /// Why nothing is sent until ``waitUntil``.
  enum Wait: Sendable, Equatable {
    /// Nobody answered.
    case failure(ConnectionFailure)
    /// Somebody answered that he is to be left alone for so long.
    case limited(String)
    /// The credentials are refused.
    case signedOut
  }

  /// The connection as far as it is known.
  private(set) var link = Link.open
  /// When something may be sent again; nil if it may now.
  private(set) var waitUntil: Int64?
  /// Why.
  private(set) var wait: Wait?
  /// Whether the credentials are refused, and no others are there yet.
  var isSignedOut: Bool { wait == .signedOut }

  /// When credentials were refused last, and how often since they were asked for.
  private var refusedAt: Int64?
  private var refusals = 0

  private var backoff: Backoff
  private var cutAt: Int64?
  private let backoffMaxMs: Int64

  /// The longest random time after which a connection that came back is used.
  static let returnMsMax: UInt64 = 5000
  /// The shortest time between two such cuts of a wait.
  static let returnPauseMs: Int64 = 30_000

  /// Nothing was sent yet.
  init(_ sending: Sending) {
    backoff = Backoff(sending.backoff)
    backoffMaxMs = sending.backoff.upperBound.milliseconds
  }

  /// Whether something may be sent.
  func maySend(at nowMs: Int64, onConstrained: Bool) -> Bool {
    guard link != .constrained || onConstrained else { return false }
    return waitUntil.map { nowMs >= $0 } ?? true
  }

  /// Somebody has answered.
  mutating func answered() {
    backoff.reset()
    refusedAt = nil
    (waitUntil, wait) = (nil, nil)
  }

  /// Nobody has answered.
  ///
  /// - Returns: When it is tried again.
  mutating func failed(_ failure: ConnectionFailure, at nowMs: Int64, random: UInt64) -> Int64 {
    let until = nowMs + backoff.next(random: random)
    (waitUntil, wait) = (until, .failure(failure))
    return until
  }

  /// Somebody has answered that he is to be left alone.
  ///
  /// - Parameter afterMs: For how long; nil if he has not said that. The shortest wait after a
  ///   failure is waited all the same.
  /// - Returns: When it is tried again.
  mutating func limited(
    _ reason: String, afterMs: Int64?, at nowMs: Int64, random: UInt64
  ) -> Int64 {
    let until = nowMs + max(afterMs ?? backoff.next(random: random), backoff.minMs)
    (waitUntil, wait) = (until, .limited(reason))
    return until
  }

  /// The connection has changed, as far as somebody knows.
  ///
  /// It is a hint. Without a connection a try is still made after the longest wait. A connection
  /// that came back ends a wait for nobody soon, and no wait that somebody has asked for.
  mutating func changed(to link: Link, at nowMs: Int64, random: UInt64) {
    let former = self.link
    self.link = link
    switch (former, link) {
    case (_, .offline):
      let failure = ConnectionFailure(reason: "there is no connection", mayHaveArrived: false)
      if waitUntil == nil { (waitUntil, wait) = (nowMs + backoffMaxMs, .failure(failure)) }
    case (.offline, _):
      guard case .failure? = wait, let waitUntil else { return }
      guard cutAt.map({ nowMs - $0 >= Self.returnPauseMs }) ?? true else { return }
      cutAt = nowMs
      self.waitUntil = min(waitUntil, nowMs + Int64(random % (Self.returnMsMax + 1)))
    default: break
    }
  }

  /// Somebody wants it tried now: a wait for nobody ends, one that somebody has asked for does not.
  mutating func wake() {
    switch wait {
    case .failure?, .signedOut?:
      refusedAt = nil
      (waitUntil, wait) = (nil, nil)
    case .limited?, nil: break
    }
  }

  /// The credentials are refused.
  ///
  /// Without others it is tried again after the longest wait: somebody may have mended that.
  ///
  /// - Returns: Whether others are to be asked for: once for each wait.
  mutating func signOut(at nowMs: Int64) -> Bool {
    let isRecent = refusedAt.map { nowMs - $0 < backoffMaxMs } ?? false
    refusals = isRecent ? refusals + 1 : 1
    refusedAt = nowMs
    (waitUntil, wait) = (nowMs + backoffMaxMs, .signedOut)
    return refusals == 1
  }

  /// There are other credentials.
  mutating func signIn() {
    if isSignedOut { (waitUntil, wait) = (nil, nil) }
  }

  /// The last failure, while it keeps anything from being sent.
  func standingFailure(at nowMs: Int64) -> ConnectionFailure? {
    guard let waitUntil, nowMs < waitUntil, case .failure(let failure)? = wait else { return nil }
    return failure
  }
}
