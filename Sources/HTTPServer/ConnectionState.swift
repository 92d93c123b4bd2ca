import RelayCore

/// Everything that a connection decides, as a value that touches no socket and no clock.
///
/// It is told what arrived and what time it is, and says what to do next.
///
/// ```
///  head ──respond──► request ──beginResponse──► response ──endResponse──┬─► head
///   │                  ▲ │ nextBody                                     ├─► skipping ──► head
///   └─refuse─► over    └─┘                                              └─► over
/// ```
struct ConnectionState: Sendable {
  enum Phase: Sendable {
    /// Between requests, or in the middle of a head.
    case head
    /// A handler has the request.
    case request
    /// The answer was sent; what the handler left of the body is read and dropped.
    case skipping
    /// Nothing more is read as HTTP.
    case over
  }

  /// What to do while waiting for a request.
  enum HeadAction: Sendable {
    /// Read more; tell ``inputTimedOut()`` if nothing has come by then.
    case read(until: MonotonicTime)
    /// Hand the request to the handler.
    case respond(RequestHead)
    /// Answer with a problem, then close.
    case refuse(ProtocolProblem)
    /// Close without an answer: nobody waits for one.
    case close
  }

  let limits: HTTPLimits
  private(set) var phase = Phase.head
  var input = InputBuffer()
  private var parser: RequestParser
  private var headDeadline: MonotonicTime
  private var hasHeadDeadline = true
  private var inputHasEnded = false
  private var inputHasTimedOut = false
  private var lacksRoom = false
  private var isDraining = false
  private var body = BodyState.none
  private var bodyFailure: ProtocolProblem?
  private var isBodyCut = false
  private var head: (wantsKeepAlive: Bool, version: HTTPVersion, isHead: Bool)?
  private var keepsAlive = false
  /// The head that was read, of a request that was refused all the same.
  private(set) var refusedHead: RequestHead?

  /// A connection that was just made: its first head is due within the head's timeout.
  init(limits: HTTPLimits, now: MonotonicTime) {
    self.limits = limits
    parser = RequestParser(limits: limits)
    headDeadline = now.adding(milliseconds: limits.headTimeoutMs)
  }

  /// Whether the connection stands between two requests with nothing in flight.
  var isIdle: Bool {
    if case .head = phase { return input.isEmpty }
    return false
  }

  /// Whether the peer may still be sending, so that closing at once could cost it the answer.
  var needsLinger: Bool { !inputHasEnded }

  /// Whether a part of a head has come, and not the rest.
  var hasPartialHead: Bool { inputHasEnded && parser.hasBegun }

  // MARK: What happened

  /// Some bytes were put into ``input``.
  mutating func received(_ count: Int, now: MonotonicTime) {
    switch phase {
    case .head where !hasHeadDeadline:
      headDeadline = now.adding(milliseconds: limits.headTimeoutMs)
      hasHeadDeadline = true
    case .request, .skipping: body.progressed(count, now: now, limits: limits)
    default: break
    }
  }

  /// The peer has ended its side, or the connection broke.
  mutating func inputEnded() { inputHasEnded = true }

  /// The deadline of the last `read` passed.
  mutating func inputTimedOut() { inputHasTimedOut = true }

  /// There is no memory to take in more of what the peer sends; see ``HTTPLimits/largeHeadsMax``.
  mutating func inputLacksRoom() { lacksRoom = true }

  /// Whether there is an array to read into, and something in it.
  var mayTakeMore: Bool { input.hasStorage && !input.isEmpty }

  /// Takes an array to read into, where there is none.
  mutating func attachBuffer(_ take: () -> [UInt8]) {
    if !input.hasStorage { input.attach(take()) }
  }

  /// Gives back the array that is read into, where little enough is left in it; nil where there is
  /// none to give back.
  mutating func detachBuffer() -> [UInt8]? { input.detach(keeping: limits.readBufferBytes / 2) }

  /// No request is taken after the one in flight.
  mutating func drain() { isDraining = true }

  // MARK: The head

  /// What to do next in order to get a request.
  mutating func nextHead(now: MonotonicTime) -> HeadAction {
    guard case .head = phase else { return .close }
    if isDraining, input.isEmpty { return over(.close) }
    if !input.isEmpty {
      switch parser.parse(input.bytes, input.start..<input.end) {
      case .needMore: break
      case .refused(let problem): return refuse(problem)
      case .complete(let head, let end):
        input.start = end
        return begin(head)
      }
    }
    if inputHasEnded { return over(.close) }
    if lacksRoom { return refuse(Self.noRoom) }
    if inputHasTimedOut {
      guard parser.hasBegun else { return over(.close) }
      return refuse(
        ProtocolProblem(
          .headTimeout, "The head did not arrive within \(limits.headTimeoutMs) ms."))
    }
    return .read(until: headDeadline)
  }

  /// Refuses what is no whole head; without a body, where the method is HEAD all the same (RFC 9110
  /// section 9.3.2).
  private mutating func refuse(_ problem: ProtocolProblem) -> HeadAction {
    let isHead = parser.isHead(input.bytes, input.start..<input.end)
    head = (wantsKeepAlive: false, version: .http11, isHead: isHead)
    return over(.refuse(problem))
  }

  private mutating func begin(_ head: RequestHead) -> HeadAction {
    self.head = (head.wantsKeepAlive, head.version, head.method == .head)
    body = BodyState(head, limits: limits)
    isBodyCut = false
    if case .length(let length) = head.framing, length > limits.bodyBytesMax {
      refusedHead = head
      return over(.refuse(tooLarge))
    }
    phase = .request
    return .respond(head)
  }

  private mutating func over(_ action: HeadAction) -> HeadAction {
    phase = .over
    return action
  }

  private static let noRoom = ProtocolProblem(
    .tooManyConnections, "Too many connections send large heads just now.")

  private var tooLarge: ProtocolProblem {
    ProtocolProblem(.bodyTooLarge, "The body exceeds \(limits.bodyBytesMax) bytes.")
  }

  // MARK: The body

  /// What to do in order to get more of a body.
  enum BodyAction: Sendable, Equatable {
    /// Read more; tell ``inputTimedOut()`` if nothing has come by then.
    case read(until: MonotonicTime)
    /// Send `100 Continue`, then ask again.
    case sendContinue
    case piece([UInt8])
    case end
    case failed(RequestBodyError)
  }

  /// The whole body, if it states its length and all of it has arrived.
  mutating func takeWholeBody() -> [UInt8]? {
    body.takeWhole(&input)
  }

  /// What to do next in order to get more of the body.
  mutating func nextBody(now: MonotonicTime) -> BodyAction {
    nextBody(now: now) { $0.take(&$1, limits: $2) }
  }

  private mutating func nextBody(
    now: MonotonicTime, _ take: (inout BodyState, inout InputBuffer, HTTPLimits) -> BodyState.Taken
  ) -> BodyAction {
    if isBodyCut { return .failed(.cutOff) }
    if let bodyFailure { return .failed(Self.error(bodyFailure)) }
    switch take(&body, &input, limits) {
    case .piece(let bytes): return .piece(bytes)
    case .end: return .end
    case .refused(let problem): return fail(problem)
    case .needMore: break
    }
    if inputHasEnded { return .failed(.disconnected) }
    if lacksRoom { return fail(Self.noRoom) }
    if inputHasTimedOut {
      return fail(ProtocolProblem(.bodyTimeout, "The body did not go on in time."))
    }
    if body.takeContinue() { return .sendContinue }
    return .read(until: body.beginWait(now: now, limits: limits))
  }

  /// Nobody wants any more of the body: what is left of it is not read, and not waited for.
  mutating func cutBody() { isBodyCut = true }

  private mutating func fail(_ problem: ProtocolProblem) -> BodyAction {
    bodyFailure = problem
    return .failed(Self.error(problem))
  }

  private static func error(_ problem: ProtocolProblem) -> RequestBodyError {
    switch problem.kind {
    case .bodyTooLarge: .tooLarge
    case .bodyTimeout: .timedOut
    default: .malformed
    }
  }

  /// The problem to answer with where a handler could not read the body; nil where nobody is left
  /// to answer.
  func problem(for error: RequestBodyError) -> ProtocolProblem? {
    if error == .disconnected { return nil }
    if let bodyFailure { return bodyFailure }
    return ProtocolProblem(.bodyTooLarge, "The body exceeds what is taken here.")
  }

  // MARK: The answer

  /// How an answer's body is delimited.
  enum ResponseFraming: Sendable, Equatable {
    /// No body and no field about one (204, 304).
    case bodiless
    case length(Int64)
    case chunked
    /// The end of the connection is the end of the body (HTTP/1.0).
    case untilClose
  }

  /// How to send an answer.
  struct ResponsePlan: Sendable, Equatable {
    var framing: ResponseFraming
    /// Whether the body's bytes go out; not in an answer to HEAD.
    var sendsBody: Bool
    var keepsAlive: Bool
    /// Whether keeping the connection has to be said aloud (HTTP/1.0).
    var saysKeepAlive: Bool
  }

  /// Decides how to send an answer.
  ///
  /// What is at hand of a body that the handler left is dropped here: a connection that is to be
  /// closed says so in its answer, and what comes after the answer must not decide that any more.
  /// All that may end a kept connection later is a sender that stops within its own request.
  ///
  /// - Parameter length: The length of the answer's body; nil where it is streamed.
  mutating func beginResponse(
    status: Int, length: Int64?, closes: Bool
  ) -> ResponsePlan {
    let isHead = head?.isHead ?? false
    let isModern = head?.version != .http10
    var framing = length.map { ResponseFraming.length($0) } ?? (isModern ? .chunked : .untilClose)
    if status == 204 || status == 304 { framing = .bodiless }
    keepsAlive =
      phase == .request && !closes && !isDraining && !inputHasEnded && bodyFailure == nil
      && !isBodyCut && head?.wantsKeepAlive == true && framing != .untilClose
      && body.isWorthSkipping(&input, limits: limits)
    return ResponsePlan(
      framing: framing, sendsBody: !isHead && framing != .bodiless, keepsAlive: keepsAlive,
      saysKeepAlive: keepsAlive && !isModern)
  }

  /// What follows an answer.
  enum AfterResponse: Sendable, Equatable {
    /// The next request.
    case next
    /// Drop what is left of this request's body first; see ``nextSkip(now:)``.
    case skip
    case close
  }

  /// Decides what follows the answer that has been sent.
  mutating func endResponse(now: MonotonicTime) -> AfterResponse {
    guard keepsAlive else {
      phase = .over
      return .close
    }
    if body.isOver {
      beginHead(now: now)
      return .next
    }
    phase = .skipping
    return .skip
  }

  /// What to do next in order to get past a body that nobody wanted.
  ///
  /// - Returns: `.end` once the next request may be read, and `.failed` to close.
  mutating func nextSkip(now: MonotonicTime) -> BodyAction {
    let action = nextBody(now: now) { $0.drop(&$1, limits: $2) }
    if action == .end { beginHead(now: now) }
    return action
  }

  private mutating func beginHead(now: MonotonicTime) {
    phase = .head
    head = nil
    parser = RequestParser(limits: limits)
    hasHeadDeadline = !input.isEmpty
    let timeoutMs = hasHeadDeadline ? limits.headTimeoutMs : limits.idleTimeoutMs
    headDeadline = now.adding(milliseconds: timeoutMs)
  }
}
