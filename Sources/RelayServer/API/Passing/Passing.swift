import EventLoop
import Forwarder
import HTTPServer
import RelayCore
import Synchronization

/// Passes requests on to the relay that has the store, while this one is a spare.
///
/// The other relay decides everything about a request, as if it had come in there: who sends it,
/// and what that sender may do.
final class Passing: Sendable {
  /// How long a request waits for a relay that takes it, in milliseconds: a little longer than a
  /// takeover.
  static let patienceMs: Int64 = 5_000
  /// The pause between two tries, in milliseconds.
  static let pauseMs: Int64 = 200
  /// How long an answer may still take once its sender has ended its side, in milliseconds.
  static let graceMs: Int64 = 5_000

  /// What became of a request.
  enum Outcome {
    /// It has this answer.
    case answered(HTTPResponse)
    /// This relay has the store by now, and answers it.
    case own(HTTPRequest)

    /// It is answered by a problem.
    static func answered(_ problem: Problem) -> Outcome { .answered(problem.response) }
  }

  /// What became of the requests.
  let figures = PassingFigures()
  private let leader: Leader
  private let link: RelayLink
  private let loop: EventLoop
  private let listeners: [ListenerConfiguration]
  private let isStopped = Atomic(false)

  /// Begins to pass on.
  ///
  /// - Parameter own: This relay's listener for relays.
  /// - Throws: ``SystemError`` if there is no room for one more thread.
  init(
    _ own: ListenerConfiguration, listeners: [ListenerConfiguration], loop: EventLoop
  ) throws(SystemError) {
    leader = Leader(own)
    link = try RelayLink()
    self.listeners = listeners
    self.loop = loop
  }

  /// Notes what the start waits for.
  func note(_ wait: StoreWait) {
    guard leader.note(wait) else { return }
    // One that has been taken over may be frozen: nobody would learn that it answers no more.
    link.breakOff()
  }

  /// Shows the other relay this one's certificate as it is now.
  func refresh() { leader.refresh() }

  /// Takes nothing new.
  func stop() { isStopped.store(true, ordering: .relaxed) }

  /// Breaks off what is under way: nobody is left to pass it on to, or to answer.
  func retire() {
    link.breakOff()
    link.stop()
  }

  /// Has a request answered by the relay that has the store.
  ///
  /// - Parameter leads: Whether this relay has the store by now.
  func respond(
    to request: HTTPRequest, unless leads: @Sendable () -> Bool
  ) async -> Outcome {
    let listener = listeners[request.origin.listener]
    let passed = listener.audience == .relays ? nil : PassedRequest(request, at: listener)
    let deadline = MonotonicClock.now().adding(milliseconds: Self.patienceMs)
    while true {
      if leads() { return .own(passed?.request(of: request) ?? request) }
      if isStopped.load(ordering: .relaxed) { return .answered(.draining()) }
      // What another relay has passed on goes no further: this one is about to have the store, or
      // had it until a moment ago.
      var reason = "the relay that it was passed on to has not the store"
      if let passed {
        switch await pass(passed, of: request) {
        case .success(let response):
          figures.count(.answered)
          return .answered(response)
        case .failure(let failure) where failure.isWritten:
          figures.count(.lost)
          return .answered(.noLeader(failure.reason, mayHaveArrived: true))
        case .failure(let failure): reason = failure.reason
        }
      }
      guard MonotonicClock.now() < deadline, !Task.isCancelled else {
        figures.count(.unreached)
        return .answered(.noLeader(reason, mayHaveArrived: false))
      }
      await pause()
    }
  }

  /// Answers with this relay's own metrics, if the other one lets the caller see its own.
  func metrics(for request: HTTPRequest) async -> HTTPResponse {
    let asked = PassedRequest(request, at: listeners[request.origin.listener])
    let head = PassedRequest(
      method: HTTPMethod.head.description, target: asked.target, fields: asked.fields,
      body: .whole([]))
    if case .success(let response) = await pass(head, of: request), response.status == 200 {
      return GetMetrics.response(to: request.head) { figures.text($0) }
    }
    switch await pass(asked, of: request) {
    case .success(let refusal): return refusal
    case .failure(let failure):
      return Problem.noLeader(failure.reason, mayHaveArrived: false).response
    }
  }

  private func pause() async {
    await withUnsafeContinuation { continuation in
      _ = loop.schedule(afterMs: Self.pauseMs) { continuation.resume() }
    }
  }

  // MARK: - One request

  private func pass(
    _ passed: PassedRequest, of request: HTTPRequest
  ) async -> Result<HTTPResponse, PassingFailure> {
    let place = leader.place
    guard let target = place.target else { return .failure(.nobody(place.reason)) }
    let passage = link.pass(passed, to: target)
    let result = await limited(passage) { () -> Result<PassedAnswer, PassingFailure> in
      async let sent: Void = Self.send(request.body, over: passage)
      let result: Result<PassedAnswer, PassingFailure>
      do throws(PassingFailure) {
        result = .success(try await passage.head())
      } catch {
        result = .failure(error)
      }
      // What is answered before all of it has come is wanted no more.
      if passage.lacksBody { request.body.cutOff() }
      await sent
      return result
    }
    // Its certificate may have been renewed, or this one's own.
    if case .failure(let failure) = result, !failure.isWritten { leader.refresh() }
    return result.map { response($0, to: request, over: passage) }
  }

  /// Hands over the body as it comes.
  private static func send(_ body: RequestBody, over passage: Passage) async {
    guard passage.lacksBody else { return }
    while await passage.wantsBody() {
      do throws(RequestBodyError) {
        let piece = try await body.read()
        passage.send(piece)
        if piece == nil { return }
      } catch .cutOff {
        return
      } catch {
        // The server tells the sender why; the other relay sees the request end too early.
        return passage.breakOff()
      }
    }
  }

  /// Does something until it ends, and for not much longer once the sender has ended its side.
  private func limited<Value: Sendable>(
    _ passage: Passage, _ work: () async -> Value
  ) async -> Value {
    await withTaskCancellationHandler {
      await work()
    } onCancel: { [loop] in
      _ = loop.schedule(afterMs: Self.graceMs) { passage.breakOff() }
    }
  }

  private func response(
    _ answer: PassedAnswer, to request: HTTPRequest, over passage: Passage
  ) -> HTTPResponse {
    var response = HTTPResponse(status: answer.status)
    for field in answer.fields { response.headers.add(name: field.name, value: field.value) }
    if let length = answer.contentLength {
      guard length > 0 else { return response }
      response.body = .source(length: length) { [self] in
        try await limited(passage) { await Result(passage) }.get()
      }
    } else if answer.status != 204, answer.status != 304, request.head.method != .head {
      response.body = .stream { [self] writer in
        try await stream(passage, to: writer)
      }
    }
    return response
  }

  private func stream(_ passage: Passage, to writer: ResponseWriter) async throws {
    let result = await limited(passage) { () -> Result<Void, any Error> in
      do {
        while let piece = try await passage.next() { try await writer.write(piece) }
        return .success(())
      } catch {
        passage.breakOff()
        return .failure(error)
      }
    }
    try result.get()
  }
}

extension Result<[UInt8]?, PassingFailure> {
  /// The next piece of an answer.
  fileprivate init(_ passage: Passage) async {
    do throws(PassingFailure) {
      self = .success(try await passage.next())
    } catch {
      self = .failure(error)
    }
  }
}

extension PassedRequest {
  /// The request as it came, with a field that says where.
  init(_ request: HTTPRequest, at listener: ListenerConfiguration) {
    let head = request.head
    var fields: [UInt8] = []
    func append(_ name: some Collection<UInt8>, _ value: some Collection<UInt8>) {
      fields += name
      fields += [UInt8(ascii: ":"), UInt8(ascii: " ")]
      fields += value
      fields += [0x0D, 0x0A]
    }
    let named = head.values(of: "Connection").flatMap(ConnectionField.names(in:))
    for field in head.fields {
      let name = head.name(of: field)
      guard !Self.isOfConnection(name),
        !named.contains(where: { FieldSyntax.equalIgnoringCase($0, name) })
      else { continue }
      append(name, head.value(of: field))
    }
    let passed = PassedOrigin(request.origin, at: listener)
    append(PassedOrigin.fieldName.description.utf8, passed.fieldValue)
    self.init(
      method: head.method.description, target: Array(head.target),
      fields: HeaderBlock(wellFormed: fields),
      body: request.body.takeWhole().map { .whole($0) }
        ?? .pieces(length: request.body.knownLength))
  }

  /// The same request, to be answered here: its body may have been taken already.
  func request(of request: HTTPRequest) -> HTTPRequest {
    guard case .whole(let bytes) = body else { return request }
    return HTTPRequest(head: request.head, body: RequestBody(bytes), origin: request.origin)
  }

  /// Whether a field ends here, and is not passed on.
  private static func isOfConnection(_ name: ArraySlice<UInt8>) -> Bool {
    ConnectionField.isOne(name) || FieldSyntax.equals(name, "Content-Length")
      || FieldSyntax.equals(name, "Expect") || FieldSyntax.equals(name, PassedOrigin.fieldName)
  }
}
