import Cryptography
import EventLoop
import RelayCore
import Synchronization

/// One connection: carries out the decisions of ``ConnectionState``, in one task at a time.
///
/// While it waits for its next request it has no task: see ``Workers``. The loop has it served
/// again when there is something to read, or the time is up.
// Sound: one task at a time uses the mutable fields: that of the worker that serves it. The worker
// lends them to a handler, through RequestBody and ResponseWriter, until the handler has returned.
// The next worker begins only when the last has finished with them.
final class ServerConnection: BodySource, @unchecked Sendable {
  var state: ConnectionState
  private var head: [UInt8] = []
  /// The number of bytes, in either direction, after which others on the loop have their turn.
  static let turnBytesMax = 65_536
  /// The number of bytes read since the last turn began.
  var takenBytes = 0
  /// The number of bytes of responses handed to the kernel since the last turn began.
  var givenBytes = 0
  /// Whether it has not been served yet.
  private var isNew = true
  private var whenOver: (@Sendable () -> Void)?
  /// The beginning of the wait that has just ended, if it was one without a task.
  var restedSince: MonotonicTime?
  /// The place of this connection among ``ServerContext/largeHeads``; nil if it has none.
  private var largeHead: SharedPlaces.Place?
  /// The bytes of the present request.
  var traffic = ExchangeTraffic()

  let socket: Socket
  /// The socket, or a TLS session over it.
  var stream: ConnectionStream
  var origin: RequestOrigin
  let tls: TLSCredentials?
  /// The client's certificate chain, and the context that last verified it.
  let standing = Mutex<VerifiedClientCertificate?>(nil)
  /// Whether the request in flight is the last one.
  let endsSoon = Atomic<Bool>(false)
  /// Whether a response without an end of its own is being sent.
  let isStreaming = Atomic<Bool>(false)
  let server: ServerContext
  let context: LoopContext
  let isWaitingForRequest = Atomic<Bool>(false)
  let serving = ServingTask()
  /// Whether the body that a handler reads is cut off.
  let isBodyCut = Atomic<Bool>(false)
  /// How many more bytes of the present request's body are read, if they have come; -1 for all.
  let bodyBytesLeft = Atomic<Int>(-1)

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

  /// Begins to serve requests; the connection closes once that is over.
  ///
  /// - Parameter whenOver: Called then, on the loop's thread.
  func begin(_ whenOver: @escaping @Sendable () -> Void) {
    self.whenOver = whenOver
    context.workers.serve(self)
  }

  /// Serves the bytes that have come, in a worker's task.
  ///
  /// - Returns: Whether the worker may serve others.
  func takeTurn(with worker: Worker) async -> Bool {
    serving.begin(worker)
    let deadline = await run()
    let isFit = serving.end()
    if let deadline {
      rest(until: deadline)
    } else {
      whenOver?()
      whenOver = nil
    }
    return isFit
  }

  /// Waits for the next request without a task, by watching the socket.
  private func rest(until deadline: MonotonicTime) {
    // The called worker owns the connection from then on.
    if !stream.onInput(until: deadline, { [self] in context.workers.serve(self) }) {
      context.workers.serve(self)
    }
  }

  /// Serves the bytes that have come.
  ///
  /// - Returns: The deadline for the next request; nil once the connection is over and closed.
  private func run() async -> MonotonicTime? {
    if isNew {
      isNew = false
      if let tls, await !isReady(tls) {
        close()
        return nil
      }
    }
    let deadline = await serve()
    if deadline == nil { close() }
    return deadline
  }

  private func close() {
    stream.close()
    releaseBuffer()
    endLargeHead()
  }

  /// Serves requests as long as bytes come.
  ///
  /// - Returns: The deadline for the next request; nil once the connection is over.
  private func serve() async -> MonotonicTime? {
    while !endsSoon.load(ordering: .relaxed) {
      // A request that came before the drain is served, and its response says that the connection
      // ends.
      if server.isDraining.load(ordering: .relaxed), !hasUnreadRequest { state.drain() }
      switch state.nextHead(now: context.loop.now) {
      case .read(let deadline):
        isWaitingForRequest.store(state.isIdle, ordering: .relaxed)
        if mustRest {
          let now = context.loop.now
          restedSince = now
          // The last body may have been read into the buffer.
          releaseBuffer()
          if now < deadline { return deadline }
          state.inputTimedOut()
        } else {
          await fillTimed(until: deadline)
        }
        isWaitingForRequest.store(false, ordering: .relaxed)
      case .respond(let head):
        guard await answer(head) else { return nil }
      case .refuse(let problem):
        await refuse(problem)
        return nil
      case .close:
        if state.hasPartialHead { tellOfEnd(nil, nil) }
        return nil
      }
    }
    return nil
  }

  /// Whether no part of a request is there, and nothing can be read.
  private var mustRest: Bool { state.isIdle && stream.isSilent }

  /// Sends the response to a refused request, and reports it.
  private func refuse(_ problem: ProtocolProblem) async {
    let refusal = server.problem(problem)
    traffic = ExchangeTraffic()
    tell(refusal.status, since: nil)
    let isWhole = await send(refusal)
    tellOfEnd(state.refusedHead, refusal.status, isWhole: isWhole, problem: problem.kind)
    if isWhole { await linger() }
  }

  // MARK: Reading

  /// Waits for bytes and reads them; returns without them if that would be a wait between requests.
  func fill(until deadline: MonotonicTime) async {
    if takenBytes >= Self.turnBytesMax {
      takenBytes = 0
      await Task.yield()
    }
    do throws(SystemError) {
      if state.mayTakeMore, try readSome() { return }
      while true {
        if !stream.mayReadAtOnce {
          // A part of a head may wait long, and must not hold a whole buffer meanwhile.
          releaseBuffer()
          if mustRest { return }
          try await stream.waitUntilReadable(until: deadline)
          if isBodyCut.load(ordering: .relaxed) || isBodyEnding { return }
        }
        state.attachBuffer { context.takeBuffer() }
        if try readSome() { return }
      }
    } catch {
      if error.isTimeout { state.inputTimedOut() } else { state.inputEnded() }
    }
  }

  /// Reads the available bytes; false if there are none yet.
  func readSome() throws(SystemError) -> Bool {
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

  func releaseBuffer() {
    guard let buffer = state.detachBuffer() else { return }
    context.giveBack(buffer)
    endLargeHead()
  }

  /// Whether a head that does not fit into a read buffer may continue.
  private func mayHoldMore() -> Bool {
    guard state.input.isFull, largeHead == nil else { return true }
    let limits = state.limits.places(of: state.limits.largeHeadsMax)
    largeHead = server.largeHeads.withLock {
      try? $0.take(.nobody(at: origin.peer.placeSource), limits)
    }
    return largeHead != nil
  }

  private func endLargeHead() {
    guard let place = largeHead else { return }
    largeHead = nil
    server.largeHeads.withLock { $0.giveBack(place) }
  }

  /// The next piece of the request's body; called by ``RequestBody``.
  func readBody() async throws(RequestBodyError) -> [UInt8]? {
    while true {
      if isBodyCut.load(ordering: .relaxed) { state.cutBody() }
      switch state.nextBody(now: context.loop.now) {
      case .piece(let bytes):
        traffic.received += Int64(bytes.count)
        return bytes
      case .end: return nil
      case .failed(let error): throw error
      case .read where isBodyEnding: if !readWhatHasCome() { state.cutBody() }
      case .read(let deadline): await fill(until: deadline)
      case .sendContinue: await sendInterim(Self.continueLine)
      }
    }
  }

  func sendInterim(_ head: [UInt8]) async {
    do throws(SystemError) {
      try await write(head)
    } catch {
      state.inputEnded()
    }
  }

  private static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  // MARK: Answering

  /// Has a request handled, and sends the response; false once the connection is over.
  private func answer(_ head: RequestHead) async -> Bool {
    traffic = ExchangeTraffic(received: Int64(head.bytes.count))
    let body = requestBody(head.framing)
    // Nothing more is read before the response, except of a long body: a waiting connection needs
    // no buffer.
    if state.input.isEmpty { releaseBuffer() }
    // The loop's stored time costs nothing, and includes the request's wait for others.
    let begin = context.loop.now
    var refusedBy: ProtocolProblem.Kind?
    var response = await server.handler.respond(
      to: HTTPRequest(head: head, body: body, origin: origin))
    body.revoke()
    isBodyCut.store(false, ordering: .relaxed)
    bodyBytesLeft.store(-1, ordering: .relaxed)
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

  /// Sends a response; false if the connection broke.
  private func send(_ response: HTTPResponse) async -> Bool {
    let plan = state.beginResponse(
      status: response.status, length: response.body.length, closes: response.closesConnection)
    head.removeAll(keepingCapacity: true)
    ResponseHeadWriter.append(response, plan, context, to: &head)
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
    // The head is sent first and alone: a stream may have nothing to send for a long time.
    try await write(head)
    let isChunked = framing == .chunked
    let writer = ResponseWriter { [self] (bytes) throws(SystemError) in
      guard isChunked else { return try await write(bytes) }
      var chunk: [UInt8] = []
      chunk.reserveCapacity(bytes.count + 20)
      ResponseHeadWriter.appendChunkSize(bytes.count, to: &chunk)
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
}

/// A response that cannot or must not be sent to its end.
private struct BrokenSource: Error {}
