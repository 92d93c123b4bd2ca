import RelayCore

/// All decisions about a connection, as a value that touches no socket and no clock.
///
/// It is told what has arrived and what time it is, and returns what to do next.
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
    /// A handler has got the request.
    case request
    /// The response was sent; the part of the body that the handler left is read and dropped.
    case skipping
    /// Nothing more is read as HTTP.
    case over
  }

  /// The next action while waiting for a request.
  enum HeadAction: Sendable {
    /// Read more; call ``inputTimedOut()`` if nothing has come by then.
    case read(until: MonotonicTime)
    /// Hand the request to the handler.
    case respond(RequestHead)
    /// Send a problem, then close.
    case refuse(ProtocolProblem)
    /// Close without a response: nobody waits for one.
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
  /// The head of a request that was read but refused.
  private(set) var refusedHead: RequestHead?

  /// Makes the state of a new connection: its first head is due within the head's timeout.
  init(limits: HTTPLimits, now: MonotonicTime) {
    self.limits = limits
    parser = RequestParser(limits: limits)
    headDeadline = now.adding(milliseconds: limits.headTimeoutMs)
  }

  /// Whether the connection is between two requests, with nothing in flight.
  var isIdle: Bool {
    if case .head = phase { return input.isEmpty }
    return false
  }

  /// Whether the peer may still be sending, so that closing at once could make it lose the
  /// response.
  var needsLinger: Bool { !inputHasEnded }

  /// Whether the peer has ended its side within a head.
  var hasPartialHead: Bool { inputHasEnded && parser.hasBegun }

  // MARK: Events

  /// Notes that bytes were put into ``input``.
  mutating func received(_ count: Int, now: MonotonicTime) {
    switch phase {
    case .head where !hasHeadDeadline:
      headDeadline = now.adding(milliseconds: limits.headTimeoutMs)
      hasHeadDeadline = true
    case .request, .skipping: body.progressed(count, now: now, limits: limits)
    default: break
    }
  }

  /// Notes that the peer has ended its side, or the connection broke.
  mutating func inputEnded() { inputHasEnded = true }

  /// Notes that the deadline of the last `read` has passed.
  mutating func inputTimedOut() { inputHasTimedOut = true }

  /// Notes that there is no memory for more of the peer's bytes; see ``HTTPLimits/largeHeadsMax``.
  mutating func inputLacksRoom() { lacksRoom = true }

  /// Whether there is a buffer to read into, with something in it.
  var mayTakeMore: Bool { input.hasStorage && !input.isEmpty }

  /// Takes a buffer to read into, if there is none.
  mutating func attachBuffer(_ take: () -> [UInt8]) {
    if !input.hasStorage { input.attach(take()) }
  }

  /// Gives back the buffer, if little enough is left in it; nil if there is none to give back.
  mutating func detachBuffer() -> [UInt8]? { input.detach(keeping: limits.readBufferBytes / 2) }

  /// Makes the request in flight the last one.
  mutating func drain() { isDraining = true }

  // MARK: The head

  /// The next action to get a request.
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

  /// Refuses a head that is not complete.
  ///
  /// If its method is HEAD all the same, the response has no body (RFC 9110 section 9.3.2).
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

  /// The next action to get more of a body.
  enum BodyAction: Sendable, Equatable {
    /// Read more; call ``inputTimedOut()`` if nothing has come by then.
    case read(until: MonotonicTime)
    /// Send `100 Continue`, then ask again.
    case sendContinue
    case piece([UInt8])
    case end
    case failed(RequestBodyError)
  }

  /// Takes the whole body, if its length is stated and all of it has arrived; else nil.
  mutating func takeWholeBody() -> [UInt8]? {
    body.takeWhole(&input)
  }

  /// The next action to get more of the body.
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

  /// Ends the body early, since nobody wants more of it: the rest is not read, and not waited for.
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

  /// The problem to send if a handler could not read the body; nil if nobody is left to receive it.
  func problem(for error: RequestBodyError) -> ProtocolProblem? {
    if error == .disconnected { return nil }
    if let bodyFailure { return bodyFailure }
    return ProtocolProblem(.bodyTooLarge, "The body exceeds what is taken here.")
  }

  // MARK: The answer

  /// How a response's body is delimited.
  enum ResponseFraming: Sendable, Equatable {
    /// No body and no field about one (204, 304).
    case bodiless
    case length(Int64)
    case chunked
    /// The end of the connection is the end of the body (HTTP/1.0).
    case untilClose
  }

  /// The plan for sending a response.
  struct ResponsePlan: Sendable, Equatable {
    var framing: ResponseFraming
    /// Whether the body's bytes are sent; not in a response to HEAD.
    var sendsBody: Bool
    var keepsAlive: Bool
    /// Whether keeping the connection has to be stated (HTTP/1.0).
    var saysKeepAlive: Bool
  }

  /// Decides how to send a response.
  ///
  /// What has arrived of a body that the handler left is dropped here. The response states whether
  /// the connection closes, so nothing that comes later may change that. Only a sender that stops
  /// within its own request may still end a kept connection.
  ///
  /// - Parameter length: The length of the response's body; nil if it is streamed.
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

  /// The action after a response.
  enum AfterResponse: Sendable, Equatable {
    /// The next request.
    case next
    /// Drop the rest of this request's body first; see ``nextSkip(now:)``.
    case skip
    case close
  }

  /// Decides what follows the response that was sent.
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

  /// The next action to get past a body that nobody wants.
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
