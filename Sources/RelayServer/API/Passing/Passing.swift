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

  /// How long what is under way may take once the relay is stopped, in milliseconds.
  static let stopMs: Int64 = 2_000

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
  /// None while the relay has its store: what was connected to the former one is closed then.
  private let link: Mutex<RelayLink?>
  private let loop: EventLoop
  private let log: Log
  private let listeners: [ListenerConfiguration]
  /// Where the requests came in that are passed on.
  private let origins = PassedOriginMemory()
  private let isStopped = Atomic(false)
  /// Whether the store is this relay's, and not opened yet.
  private let isOpening = Atomic(false)
  /// Rings when another relay has the store, or this one has it.
  private let bell: ChangeBell

  /// Begins to pass on.
  ///
  /// - Parameter own: This relay's listener for relays.
  /// - Throws: ``SystemError`` if there is no room for one more thread.
  init(
    _ own: ListenerConfiguration, listeners: [ListenerConfiguration], loop: EventLoop, log: Log
  ) throws(SystemError) {
    leader = Leader(own)
    link = Mutex(try RelayLink())
    self.listeners = listeners
    self.loop = loop
    self.log = log
    bell = ChangeBell(on: loop)
  }

  /// Notes where other relays reach this one: it passes nothing on to itself.
  func note(ownAddress: String?) { leader.note(ownAddress: ownAddress) }

  /// Notes what the start waits for.
  func note(_ wait: StoreWait) {
    // One that has been taken over may be frozen: nobody would learn that it answers no more.
    if let former = leader.note(wait) { link.withLock { $0 }?.leave(former) }
    isOpening.store(wait == .opening, ordering: .sequentiallyConsistent)
    bell.ring()
  }

  /// The relay answers by itself from now on.
  func rest() {
    bell.ring()
    endLink()
  }

  /// The relay gives its store up: which one has it next is not known yet.
  func resume() {
    isOpening.store(false, ordering: .sequentiallyConsistent)
    leader.forget()
    do throws(SystemError) {
      let made = try RelayLink()
      link.withLock { $0 = made }
    } catch {
      log.warning(
        "nothing can be passed on to the next relay", ("error", .text(error.description)))
    }
  }

  private func endLink() {
    let link = link.withLock { link in
      defer { link = nil }
      return link
    }
    link?.breakOff()
    link?.stop()
  }

  /// Shows the other relay this one's certificate as it is now.
  func refresh() { leader.refresh() }

  /// Takes nothing new.
  ///
  /// What is under way may finish for a moment: a long wait would hold up the stop.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
    bell.ring()
    _ = loop.schedule(afterMs: Self.stopMs) { [self] in breakOff() }
  }

  /// Breaks off what is under way.
  func breakOff() { link.withLock { $0 }?.breakOff() }

  /// The same, for good: nobody is left to pass anything on to, or to answer.
  func retire() { endLink() }

  /// Has a request answered by the relay that has the store.
  ///
  /// - Parameter leads: Whether this relay has the store by now.
  func respond(
    to request: HTTPRequest, unless leads: @Sendable () -> Bool
  ) async -> Outcome {
    let deadline = MonotonicClock.now().adding(milliseconds: Self.patienceMs)
    await opened(unless: leads, until: deadline)
    if leads() { return .own(request) }
    // What another relay has passed on goes no further.
    guard !isPassedOn(request) else { return .answered(Self.notLeading) }
    let passed = passedRequest(request)
    while true {
      let strokes = bell.strokes
      if leads() { return .own(passed.request(of: request)) }
      if isStopped.load(ordering: .relaxed) { return .answered(.draining()) }
      switch await pass(passed, of: request) {
      case .success(let response):
        figures.count(.answered)
        return .answered(response)
      case .failure(let failure):
        guard
          failure.isWritten || MonotonicClock.now() >= deadline || Task.isCancelled
        else { break }
        figures.count(failure.isWritten ? .lost : .unreached)
        tell(failure)
        return .answered(.noLeader(mayHaveArrived: failure.isWritten))
      }
      await bell.wait(after: strokes, atMostMs: Self.pauseMs)
      await opened(unless: leads, until: deadline)
    }
  }

  /// Waits while the relay opens its store: the request is its own then.
  private func opened(unless leads: () -> Bool, until deadline: MonotonicTime) async {
    while true {
      let strokes = bell.strokes
      guard isOpening.load(ordering: .sequentiallyConsistent), !leads(),
        !isStopped.load(ordering: .relaxed)
      else { return }
      let leftMs = deadline.milliseconds(since: MonotonicClock.now())
      guard leftMs > 0 else { return }
      await bell.wait(after: strokes, atMostMs: leftMs)
    }
  }

  /// Of all requests together: many may fail in one outage.
  private func tell(_ failure: PassingFailure) {
    log.repeating(
      .warning, "a request could not be passed on to the relay that has the store", about: "",
      RepeatPace(firstMs: 10_000, longestMs: 60_000),
      ("at", .text(leader.place.target?.url.authority ?? "nobody")),
      ("reason", .text(failure.reason)), ("mayHaveArrived", failure.isWritten ? "yes" : "no"))
  }

  /// The answer to a relay that takes this one for the one with the store.
  private static var notLeading: HTTPResponse {
    var response = Problem.noLeader(mayHaveArrived: false).response
    response.headers.add(Self.spareField, "?1")
    return response
  }

  /// The field by which a spare tells another one that it has not taken a request.
  private static let spareField: StaticString = "Waystation-Spare"

  /// Whether another relay has passed a request on to this one.
  func isPassedOn(_ request: HTTPRequest) -> Bool {
    listeners[request.origin.listener].audience == .relays
  }

  /// Answers with this relay's own metrics, if the other one lets the caller see its own.
  ///
  /// - Parameter certificates: What its listeners' certificates are, and when each ends.
  /// - Returns: nil if the other one could not be asked.
  func metrics(
    for request: HTTPRequest, _ certificates: [(what: String, endsAt: WallTime)]
  ) async -> HTTPResponse? {
    let asked = passedRequest(request)
    guard case .success(let answer) = await pass(asked.asking("HEAD", asked.target), of: request)
    else { return nil }
    if answer.status == 200 {
      return GetMetrics.response(to: request.head) {
        figures.text($0, certificates, now: WallClock.now())
      }
    }
    // The refusal, with its body.
    guard case .success(let refusal) = await pass(asked, of: request), refusal.status != 200 else {
      return nil
    }
    return refusal
  }

  // MARK: - One request

  private func passedRequest(_ request: HTTPRequest) -> PassedRequest {
    let listener = listeners[request.origin.listener]
    return PassedRequest(request, cameIn: origins.fieldValue(of: request.origin, at: listener))
  }

  private func pass(
    _ passed: PassedRequest, of request: HTTPRequest
  ) async -> Result<HTTPResponse, PassingFailure> {
    if leader.place.target == nil { leader.refresh() }
    let place = leader.place
    guard let link = link.withLock({ $0 }) else {
      return .failure(.nobody("nothing is passed on by this relay just now"))
    }
    guard let target = place.target else { return .failure(.nobody(place.reason)) }
    if passed.isStreamed {
      // Of such a body a part would be gone if the other relay turned out to be a spare.
      let probe = link.pass(passed.asking("HEAD", Array("/healthz".utf8)), to: target)
      do throws(PassingFailure) {
        try await probe.head().checkLeading()
      } catch {
        leader.refresh()
        return .failure(.nobody(error.reason))
      }
    }
    let passage = link.pass(passed, to: target)
    let result = await limited(passage) { () -> Result<PassedAnswer, PassingFailure> in
      guard passed.isStreamed else { return await Self.head(of: passage) }
      return await Self.sendPieces(of: request.body, over: passage)
    }
    // Its certificate may have been renewed, or this one's own.
    if case .failure(let failure) = result, !failure.isWritten { leader.refresh() }
    return result.map { response($0, to: request, over: passage) }
  }

  /// The beginning of the answer of a relay that has the store.
  private static func head(of passage: Passage) async -> Result<PassedAnswer, PassingFailure> {
    do throws(PassingFailure) {
      let head = try await passage.head()
      try head.checkLeading()
      return .success(head)
    } catch {
      return .failure(error)
    }
  }

  /// The same of a request whose body comes in pieces.
  private static func sendPieces(
    of body: RequestBody, over passage: Passage
  ) async -> Result<PassedAnswer, PassingFailure> {
    async let sent: Void = send(body, over: passage)
    // Of the body some pieces are gone.
    let result = await head(of: passage).mapError { passage.hasBegun ? $0.written : $0 }
    // What is answered before all of it has come is wanted no more. But nothing was taken of it
    // where nothing was written, so it can still be passed on.
    if passage.lacksBody, result.isWritten { body.cutOff() }
    await sent
    return result
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
      if let whole = passage.takeWholeAnswer() {
        response.body = .bytes(whole)
        return response
      }
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

extension Result<PassedAnswer, PassingFailure> {
  /// Whether the other relay has got the request, or a part of it.
  fileprivate var isWritten: Bool {
    if case .failure(let failure) = self { failure.isWritten } else { true }
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

extension PassedAnswer {
  /// Checks that a relay has answered that has the store.
  fileprivate func checkLeading() throws(PassingFailure) {
    for field in fields where field.isNamed("Waystation-Spare") {
      throw .nobody("the relay at that address has not the store")
    }
  }
}
