import Cryptography
import EventLoop
import RelayCore
import Synchronization

/// One connection: carries out what ``ConnectionState`` decides, in one task.
// Sound: one task at a time uses the mutable fields: the connection's own, which lends
// them to its handler, through RequestBody and ResponseWriter, until the handler has returned.
final class Connection: BodySource, @unchecked Sendable {
  private var state: ConnectionState
  private var head: [UInt8] = []
  /// After so many bytes others on the loop have their turn, though more may have come.
  private static let turnBytesMax = 65_536
  /// How many bytes were taken in since the last turn began.
  private var takenBytes = 0
  /// Whether this connection is among ``ServerContext/largeHeadCount``.
  private var holdsLargeHead = false
  /// What has gone over it for the request at hand.
  private(set) var traffic = ExchangeTraffic()

  private let socket: Socket
  /// What the bytes go through: the socket, or a session over it.
  private var stream: ConnectionStream
  private(set) var origin: RequestOrigin
  private let tls: TLSCredentials?
  /// What the client has shown of itself, and what that was last verified with.
  private let standing = Mutex<ClientStanding?>(nil)
  /// Whether nothing but the request in flight is served any more.
  private let endsSoon = Atomic<Bool>(false)
  /// Whether an answer without an end of its own is on its way.
  private let isStreaming = Atomic<Bool>(false)
  let server: ServerContext
  private let context: LoopContext
  private let isWaitingForRequest = Atomic<Bool>(false)

  init(
    _ socket: Socket, from origin: RequestOrigin, _ tls: TLSCredentials?, _ server: ServerContext,
    _ context: LoopContext
  ) {
    self.socket = socket
    stream = .plain(socket)
    self.tls = tls
    self.origin = origin
    self.server = server
    self.context = context
    state = ConnectionState(limits: server.limits, now: context.loop.now)
  }

  /// Serves requests until the connection is over, and closes it.
  func run() async {
    if await isReady() { await serve() }
    stream.close()
    releaseBuffer()
    endLargeHead()
  }

  /// Completes the handshake, if there is to be one; false where there is nobody to serve.
  private func isReady() async -> Bool {
    guard let tls else { return true }
    if server.isDraining.load(ordering: .relaxed) { return false }
    // Nothing is in flight yet: a server that drains need not wait for it.
    isWaitingForRequest.store(true, ordering: .relaxed)
    let secured = await secure(socket, with: tls)
    isWaitingForRequest.store(false, ordering: .relaxed)
    guard let secured else { return false }
    stream = .secure(secured)
    if let chain = secured.peerChain {
      origin = RequestOrigin(
        listener: origin.listener, peer: origin.peer, certificate: chain.says)
      standing.withLock { $0 = ClientStanding(chain: chain, context: secured.context) }
      // A reload during the handshake has not seen this one.
      if hasLostTrust() { return false }
    }
    // The time for the first head begins now, and not before the handshake.
    state = ConnectionState(limits: state.limits, now: context.loop.now)
    return true
  }

  private func serve() async {
    while !endsSoon.load(ordering: .relaxed) {
      if server.isDraining.load(ordering: .relaxed) { state.drain() }
      switch state.nextHead(now: context.loop.now) {
      case .read(let deadline):
        isWaitingForRequest.store(state.isIdle, ordering: .relaxed)
        let begin = samplesNext ? MonotonicClock.now() : nil
        await fill(until: deadline)
        isWaitingForRequest.store(false, ordering: .relaxed)
        if let begin { tellDelay(since: begin) }
      case .respond(let head):
        guard await answer(head) else { return }
      case .refuse(let problem):
        let refusal = server.problem(problem)
        traffic = ExchangeTraffic()
        tell(refusal.status, since: nil)
        let isWhole = await send(refusal)
        tellOfEnd(state.refusedHead, refusal.status, isWhole: isWhole, problem: problem.kind)
        return isWhole ? await linger() : ()
      case .close:
        if state.hasPartialHead { tellOfEnd(nil, nil) }
        return
      }
    }
  }

  /// The version of TLS that is spoken; nil where there is none.
  var tlsVersion: String? {
    if case .secure(let secured) = stream { secured.version } else { nil }
  }

  // MARK: Delays

  private var samplesNext: Bool { server.observeDelay != nil && context.isSampleDue() }

  /// Tells how long what has just been read had lain there, for want of a turn on the loop.
  ///
  /// What came before this connection began to wait for it, as pipelined requests do, has waited
  /// for other things than the loop.
  private func tellDelay(since begin: MonotonicTime) {
    guard let delayMs = socket.msSinceData else { return }
    server.observeDelay?(min(delayMs, MonotonicClock.now().milliseconds(since: begin)))
  }

  // MARK: From other tasks

  /// Closes at once if no request is in flight; on the loop's thread, while the server drains.
  func closeIfIdle() {
    // On this thread the task is parked now, and cannot be between its check and its wait.
    if isWaitingForRequest.load(ordering: .relaxed) { stream.close() }
  }

  /// Whether the client has shown a certificate that its listener accepts no more, though it did.
  ///
  /// From any thread.
  func hasLostTrust() -> Bool {
    guard let tls, let shown = standing.withLock({ $0 }) else { return false }
    let current = tls.current
    if shown.context === current { return false }
    if shown.chain.refusal(by: current) != nil { return true }
    standing.withLock { $0 = ClientStanding(chain: shown.chain, context: current) }
    return false
  }

  /// Serves nothing but the request in flight; on the loop's thread.
  ///
  /// - Returns: Whether that has no end of its own, so that it has to be cut off.
  func endSoon() -> Bool {
    endsSoon.store(true, ordering: .sequentiallyConsistent)
    closeIfIdle()
    return isStreaming.load(ordering: .sequentiallyConsistent)
  }

  /// Has it told, once, when the peer has ended its side, whatever the connection is doing.
  ///
  /// That is how a handler learns that nobody waits for its answer, which it would otherwise see
  /// only when it writes.
  func whenPeerEnds(_ action: @escaping @Sendable () -> Void) { socket.onInputEnd(action) }

  /// Cuts the connection, whatever it is doing; from any thread.
  func abort() {
    socket.close()
  }

  // MARK: Reading

  /// Waits for bytes, and takes in what there is.
  private func fill(until deadline: MonotonicTime) async {
    if takenBytes >= Self.turnBytesMax {
      takenBytes = 0
      await Task.yield()
    }
    do throws(SystemError) {
      if state.input.hasStorage, !state.input.isEmpty, try readSome() { return }
      while true {
        // A part of a head may wait for long: it must not hold a whole buffer meanwhile.
        releaseBuffer()
        try await stream.waitUntilReadable(until: deadline)
        if !state.input.hasStorage { state.input.attach(context.takeBuffer()) }
        if try readSome() { return }
      }
    } catch {
      if error.isTimeout { state.inputTimedOut() } else { state.inputEnded() }
    }
  }

  /// Takes in what there is; false where there is nothing yet.
  private func readSome() throws(SystemError) -> Bool {
    guard mayHoldMore() else {
      state.inputLacksRoom()
      return true
    }
    let count = try state.input.fill { (room) throws(SystemError) -> Int? in
      try stream.tryRead(into: room)
    }
    guard let count else { return false }
    takenBytes += count
    count == 0 ? state.inputEnded() : state.received(count, now: context.loop.now)
    return true
  }

  private func releaseBuffer() {
    let keptMax = state.limits.readBufferBytes / 2
    guard let buffer = state.input.detach(keeping: keptMax) else { return }
    context.giveBack(buffer)
    endLargeHead()
  }

  /// Whether a head that does not fit into a read buffer may go on.
  private func mayHoldMore() -> Bool {
    guard state.input.isFull, !holdsLargeHead else { return true }
    let count = server.largeHeadCount.add(1, ordering: .relaxed).newValue
    holdsLargeHead = true
    if count > state.limits.largeHeadsMax { endLargeHead() }
    return holdsLargeHead
  }

  private func endLargeHead() {
    guard holdsLargeHead else { return }
    holdsLargeHead = false
    server.largeHeadCount.subtract(1, ordering: .relaxed)
  }

  /// The next piece of the request's body; ``RequestBody`` calls this.
  func readBody() async throws(RequestBodyError) -> [UInt8]? {
    while true {
      switch state.nextBody(now: context.loop.now) {
      case .piece(let bytes):
        traffic.received += Int64(bytes.count)
        return bytes
      case .end: return nil
      case .failed(let error): throw error
      case .read(let deadline): await fill(until: deadline)
      case .sendContinue:
        do throws(SystemError) {
          try await write(Self.continueLine)
        } catch {
          state.inputEnded()
        }
      }
    }
  }

  private static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  // MARK: Answering

  /// Has a request answered; false once the connection is over.
  private func answer(_ head: RequestHead) async -> Bool {
    traffic = ExchangeTraffic(received: Int64(head.bytes.count))
    let body = requestBody(head.framing)
    // Nothing more is read before the answer, but of a long body: who waits needs no buffer.
    if state.input.isEmpty { releaseBuffer() }
    // The loop's own reading costs nothing, and counts what the request waited for others.
    let begin = context.loop.now
    var refusedBy: ProtocolProblem.Kind?
    var response = await server.handler.respond(
      to: HTTPRequest(head: head, body: body, origin: origin))
    body.revoke()
    if server.isDraining.load(ordering: .relaxed) || endsSoon.load(ordering: .relaxed) {
      state.drain()
    }
    let note = response.note
    if let error = body.failure {
      guard let problem = state.problem(for: error) else {
        tellOfEnd(head, nil, since: begin, note: note)
        return false
      }
      response = server.problem(problem)
      response.closesConnection = true
      refusedBy = problem.kind
    }
    let status = response.status
    tell(status, since: begin)
    let isWhole = await send(response)
    tellOfEnd(head, status, isWhole: isWhole, since: begin, problem: refusedBy, note: note)
    guard isWhole else { return false }
    switch state.endResponse(now: context.loop.now) {
    case .next: return true
    case .skip: return await skipBody()
    case .close:
      await linger()
      return false
    }
  }

  private func requestBody(_ framing: BodyFraming) -> RequestBody {
    if let bytes = state.takeWholeBody() {
      traffic.received += Int64(bytes.count)
      return bytes.isEmpty ? .none : RequestBody(bytes)
    }
    if case .length(let length) = framing { return RequestBody(knownLength: length, source: self) }
    return RequestBody(knownLength: nil, source: self)
  }

  /// Sends an answer; false where the connection broke.
  private func send(_ response: HTTPResponse) async -> Bool {
    let plan = state.beginResponse(
      status: response.status, length: response.body.length, closes: response.closesConnection)
    head.removeAll(keepingCapacity: true)
    ResponseHead.append(response, plan, context, to: &head)
    do {
      guard plan.sendsBody else {
        try await write(head)
        return true
      }
      switch response.body {
      case .empty: try await write(head)
      case .bytes(let bytes): try await write(head, bytes)
      case .source(let length, let next): try await send(length, next)
      case .stream(let produce): try await send(plan.framing, produce)
      }
      return true
    } catch {
      return false
    }
  }

  private func send(
    _ length: Int64, _ next: @Sendable () async throws -> [UInt8]?
  ) async throws {
    var left = length
    var first = head
    while let piece = try await next() {
      left -= Int64(piece.count)
      guard left >= 0 else { throw BrokenSource() }
      try await write(first, piece)
      first = []
    }
    guard left == 0 else { throw BrokenSource() }
    if !first.isEmpty { try await write(first) }
  }

  private func send(
    _ framing: ConnectionState.ResponseFraming,
    _ produce: @Sendable (ResponseWriter) async throws -> Void
  ) async throws {
    isStreaming.store(true, ordering: .sequentiallyConsistent)
    defer { isStreaming.store(false, ordering: .relaxed) }
    if endsSoon.load(ordering: .sequentiallyConsistent) { throw BrokenSource() }
    // The head goes first and alone: a stream may have nothing to say for a long time.
    try await write(head)
    let isChunked = framing == .chunked
    let writer = ResponseWriter { [self] (bytes) throws(SystemError) in
      guard isChunked else { return try await write(bytes) }
      var chunk: [UInt8] = []
      chunk.reserveCapacity(bytes.count + 20)
      ResponseHead.appendChunkSize(bytes.count, to: &chunk)
      chunk.append(contentsOf: bytes)
      chunk.append(contentsOf: [0x0D, 0x0A])
      try await write(chunk)
    } abort: { [self] in
      abort()
    }
    defer { writer.end() }
    try await produce(writer)
    if isChunked { try await write(Array("0\r\n\r\n".utf8)) }
  }

  private func write(_ first: [UInt8], _ second: [UInt8] = []) async throws(SystemError) {
    try await stream.write(first, second, stallMs: state.limits.writeStallTimeoutMs)
    traffic.sent += Int64(first.count + second.count)
  }

  // MARK: After the answer

  /// Gets past a body that its handler left; false to close.
  private func skipBody() async -> Bool {
    while true {
      switch state.nextSkip(now: context.loop.now) {
      case .end: return true
      case .read(let deadline): await fill(until: deadline)
      case .sendContinue, .piece: continue
      case .failed:
        await linger()
        return false
      }
    }
  }

  /// Ends this side, and reads on for a while before the socket is closed.
  ///
  /// Closing while the peer still sends would make the kernel answer with a reset, which can
  /// overtake the last answer and erase it at the peer (RFC 9112 section 9.6).
  private func linger() async {
    guard state.needsLinger else { return }
    releaseBuffer()
    stream.shutdownWrites()
    let deadline = MonotonicClock.now().adding(milliseconds: state.limits.lingerTimeoutMs)
    await socket.discardInput(until: deadline)
  }
}

/// An answer that cannot be sent to its end, or is not to be.
private struct BrokenSource: Error {}
