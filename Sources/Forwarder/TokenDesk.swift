import RelayCore

/// The access tokens of upstreams, and the attempts that wait for them.
///
/// ``TokenKeeper`` decides; here is what it decides about. It lives on the forwarder's thread.
struct TokenDesk {
  /// What is to be done next.
  enum Step {
    /// A request is sent: an attempt that has its token now, or a request for a token.
    case send(AttemptRequest)
    /// An attempt has ended, without having been sent.
    case end(AttemptRequest, AttemptEvent)
  }

  private final class Account {
    let target: UpstreamTarget
    let source: TokenSource
    var keeper = TokenKeeper()
    var token: FetchedToken?
    var pending: [Serial: AttemptRequest] = [:]

    init(_ target: UpstreamTarget, _ source: TokenSource) {
      self.target = target
      self.source = source
    }
  }

  private var accounts: [ObjectIdentifier: Account] = [:]
  private var fetches: [Serial: Account] = [:]
  /// Requests for tokens have numbers below 0, which no envelope has.
  private var lastFetch: Serial = 0

  /// Whether an envelope's attempt waits.
  func contains(_ serial: Serial) -> Bool {
    accounts.values.contains { $0.pending[serial] != nil }
  }

  /// Whether a request is one for a token.
  static func isFetch(_ serial: Serial) -> Bool { serial < 0 }

  /// Takes an attempt that needs a token.
  mutating func admit(_ request: AttemptRequest, _ source: TokenSource, at now: Now) -> [Step] {
    let account = accounts[ObjectIdentifier(request.target)] ?? Account(request.target, source)
    accounts[ObjectIdentifier(request.target)] = account
    var request = request
    if request.beganAt == nil { request.beganAt = now }
    return steps(
      for: request, account.keeper.admit(request.serial, at: now.monotonic), account, at: now)
  }

  /// What is to become of an attempt's end.
  enum Judgement {
    /// It is reported.
    case stands
    /// It is reported as one that says nothing of the envelope yet.
    case unclear
    /// The attempt goes on.
    case goesOn([Step])
  }

  /// Looks at the end of an attempt with a token.
  mutating func judge(
    _ request: AttemptRequest, _ report: AttemptReport, at now: Now
  ) -> Judgement {
    guard let token = request.accessToken, case .answered(let answer) = report.event else {
      return .stands
    }
    // It may be for the token of a configuration that is no longer in force. The next attempt is
    // made by the one that is.
    if request.target.isRetired { return answer.status == 401 ? .unclear : .stands }
    guard let account = accounts[ObjectIdentifier(request.target)] else { return .stands }
    guard answer.status == 401 else {
      account.keeper.accepted(
        token: token.number, beganAt: (request.beganAt ?? now).monotonic)
      return .stands
    }
    guard !request.isRepeated else {
      account.keeper.rejectedAgain(at: now.monotonic)
      return .stands
    }
    switch account.keeper.rejected(request.serial, token: token.number, at: now.monotonic) {
    case .stands: return .stands
    case .unclear: return .unclear
    case .another(let admission):
      var request = request
      request.isRepeated = true
      return .goesOn(steps(for: request, admission, account, at: now))
    }
  }

  /// Takes the end of a request for a token; nil if it is the end of something else.
  mutating func ended(_ report: AttemptReport, at now: Now) -> [Step]? {
    guard Self.isFetch(report.serial) else { return nil }
    guard let account = fetches.removeValue(forKey: report.serial) else { return [] }
    defer { forgetRetired() }
    let failure: TokenKeeper.Failure
    var pauseMs: Int64?
    switch account.source.read(report, now.wall) {
    case .granted(let value, let lifetimeMs):
      let (number, attempts) = account.keeper.granted(lifetimeMs: lifetimeMs, at: now.monotonic)
      account.token = FetchedToken(number: number, value: value)
      return attempts.compactMap { account.pending.removeValue(forKey: $0) }.flatMap {
        steps(for: $0, .send(token: number), account, at: now)
      }
    case .unavailable(let reason, let retryAfterMs):
      failure = TokenKeeper.Failure(isRefusal: false, reason: reason)
      pauseMs = retryAfterMs
    case .refused(let reason): failure = TokenKeeper.Failure(isRefusal: true, reason: reason)
    }
    let attempts = account.keeper.failed(failure, retryAfterMs: pauseMs, at: now.monotonic)
    return attempts.compactMap { account.pending.removeValue(forKey: $0) }.flatMap {
      steps(for: $0, .fail(failure), account, at: now)
    }
  }

  /// Removes attempts that are called off while they wait, and returns their envelopes.
  mutating func remove(_ isMeant: (Serial) -> Bool) -> [Serial] {
    var removed: [Serial] = []
    for account in accounts.values {
      let serials = account.pending.keys.filter(isMeant)
      for serial in serials { account.pending[serial] = nil }
      account.keeper.withdraw(isMeant)
      removed += serials
    }
    return removed
  }

  /// Has the next attempt at an upstream ask for a token, whatever came of it the last time.
  func askAnew(for target: UpstreamTarget) { accounts[ObjectIdentifier(target)]?.keeper.askAnew() }

  /// Forgets the tokens of replaced upstreams for which nothing waits.
  mutating func forgetRetired() {
    accounts = accounts.filter { !$0.value.target.isRetired || !$0.value.pending.isEmpty }
  }

  private mutating func steps(
    for request: AttemptRequest, _ admission: TokenKeeper.Admission, _ account: Account, at now: Now
  ) -> [Step] {
    var steps: [Step] = []
    var request = request
    switch admission {
    case .send:
      request.accessToken = account.token
      steps.append(.send(request))
    case .wait: account.pending[request.serial] = request
    case .fail(let failure):
      let kind = failure.isRefusal ? ConnectionFailure.credentials : .token
      steps.append(.end(request, .failed(kind, detail: failure.reason)))
    }
    if account.keeper.takeFetch() { steps.append(.send(fetch(for: account, at: now))) }
    return steps
  }

  private mutating func fetch(for account: Account, at now: Now) -> AttemptRequest {
    lastFetch -= 1
    fetches[lastFetch] = account
    var request = AttemptRequest(
      serial: lastFetch, id: EnvelopeID(high: 0, low: 0), client: "", attempt: 1,
      acceptedAt: now.wall, target: account.source.endpoint,
      content: account.source.request(ForwarderLoop.signingTime(now)))
    request.isOwn = true
    return request
  }
}
