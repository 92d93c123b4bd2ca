import EventLoop
import HTTPServer
import RelayCore

/// One listener's events, from the first to the last: a place in the log that moves on.
///
/// Holds one page at a time, however slow the peer is and however much happens meanwhile.
struct EventStream {
  /// The most events that are read and sent at a time: some 50 KB.
  static let pageCountMax = 200
  /// The most logged events that are looked at for a page.
  static let pageLooksMax = 20_000
  /// The least time between two looks at the log, in milliseconds: where much happens, its commits
  /// are read many at a time.
  static let readPauseMs: Int64 = 20
  /// The time that a peer waits before it reconnects, in milliseconds.
  static let retryMs: Int64 = 2000
  /// The time that a listener has to read the last events before its connection ends, in
  /// milliseconds.
  static let partingMs: Int64 = 1000

  private let context: EndpointContext
  private let parameters: EventParameters
  private let listener: EventListener
  private let writer: ResponseWriter
  private var origin: UInt32 = 0
  private var place = EventPosition.beginning
  private var lastSign: MonotonicTime
  private var progress: ProgressWatch

  init(
    _ context: EndpointContext, _ parameters: EventParameters, _ listener: EventListener,
    _ writer: ResponseWriter
  ) {
    self.context = context
    self.parameters = parameters
    self.listener = listener
    self.writer = writer
    lastSign = context.relay.now().monotonic
    progress = ProgressWatch(context, parameters.filter, now: lastSign)
  }

  private var loop: EventLoop { context.relay.dispatcher.loop }
  private var now: MonotonicTime { context.relay.now().monotonic }
  private var settings: EventsConfiguration { context.relay.configuration.events }
  /// Whether there is somebody to be told, who may be: a credential that has ended by itself ends
  /// what was begun with it.
  private var isWanted: Bool {
    !listener.isOver && !Task.isCancelled
      && context.relay.access.isGood(context.caller, at: context.relay.now().wall)
  }

  /// Goes on until the peer has gone, is cut off, or is sent away.
  ///
  /// - Throws: What the connection or the store said; the peer then comes back by itself, and goes
  ///   on where it was.
  mutating func run() async throws {
    listener.onEnd { [loop, writer] in
      loop.schedule(afterMs: Self.partingMs) { writer.cut() }
    }
    let access = context.relay.access
    let watch = access.watch(context.caller, at: context.relay.now().wall) { [listener, writer] in
      listener.dismiss()
      writer.cut()
    }
    defer { withExtendedLifetime(watch) {} }
    var text = EventText()
    text.retry(afterMs: Self.retryMs)
    try await begin(&text)
    while isWanted {
      listener.rearm()
      let begin = now
      let page = try await read()
      try await tell(page)
      try await tellProgress()
      if page.hasMore || page.isPastGone { continue }
      try await waitForMore(since: begin)
    }
  }

  // MARK: - From the log

  /// Finds the place to go on from: that which the listener has come to, or, where what follows it
  /// is not kept any more, the end, with a snapshot.
  private mutating func begin(_ text: inout EventText) async throws {
    let span = try await context.store.eventLogSpan()
    origin = span.origin
    if let lastSeen = parameters.lastSeen {
      if span.reaches(lastSeen) {
        place = lastSeen.position
        return try await send(text)
      }
      text.event(StreamedEvent.forgotten.rawValue, data: forgotten(lastSeen, span))
    }
    try await sendSnapshot(span, text)
  }

  /// The snapshot is taken after the place: what happens in between is in both.
  ///
  /// The place is one that the engine has come to. The log may go further already, and the
  /// snapshot, which is the engine's, would lack what stands there.
  private mutating func sendSnapshot(_ span: EventLogSpan, _ text: EventText) async throws {
    var text = text
    place = min(span.end, context.relay.dispatcher.listeners.appliedEnd ?? span.end)
    let data = try await EventSnapshot(context).json(parameters.filter)
    text.event(StreamedEvent.snapshot.rawValue, id: id(place), data: data)
    try await send(text)
  }

  private func read() async throws -> EventPage {
    do throws(StoreError) {
      return try await context.store.events(
        behind: place, parameters.filter, countMax: Self.pageCountMax, looksMax: Self.pageLooksMax)
    } catch {
      throw context.problem(error)
    }
  }

  private mutating func tell(_ page: EventPage) async throws {
    if page.isPastGone {
      // So slow that the log has been cut off behind it.
      let span = try await context.store.eventLogSpan()
      var text = EventText()
      text.event(
        StreamedEvent.forgotten.rawValue,
        data: forgotten(EventID(origin: origin, position: place), span))
      return try await sendSnapshot(span, text)
    }
    place = page.next
    guard !page.events.isEmpty else { return }
    var text = EventText()
    for event in page.events {
      text.event(event.kind.rawValue, id: id(event.position), data: event.json())
    }
    try await send(text)
  }

  private func forgotten(_ lastSeen: EventID, _ span: EventLogSpan) -> [UInt8] {
    let first = EventID(origin: span.origin, position: span.first)
    return ForgottenView(at: context.relay.now().wall, lastSeen: lastSeen, first: first).json()
  }

  private func id(_ position: EventPosition) -> String {
    EventID(origin: origin, position: position).description
  }

  // MARK: - Beside the log

  private mutating func tellProgress() async throws {
    let events = try await progress.look(at: context.relay.now())
    guard !events.isEmpty else { return }
    var text = EventText()
    for data in events { text.event(StreamedEvent.progress.rawValue, data: data) }
    try await send(text)
  }

  /// Waits until there is something to read, or to tell; shows the peer now and then that the
  /// connection is alive.
  private mutating func waitForMore(since begin: MonotonicTime) async throws {
    let heartbeatMs = Int64(settings.heartbeatSeconds) * 1000
    let leftMs = max(0, heartbeatMs - now.milliseconds(since: lastSign))
    let waitMs = context.relay.dispatcher.waitingCount > 0 ? min(leftMs, progress.periodMs) : leftMs
    switch await listener.wait(on: loop, forMs: waitMs) {
    case .over: return
    case .rung:
      let pauseMs = Self.readPauseMs - now.milliseconds(since: begin)
      if pauseMs > 0 { await loop.sleep(until: now.adding(milliseconds: pauseMs)) }
    case .silence: break
    }
    guard now.milliseconds(since: lastSign) >= heartbeatMs else { return }
    var text = EventText()
    text.sign(id: id(place))
    try await send(text)
  }

  /// Sends some text on; a peer that does not read it in time is cut off.
  private mutating func send(_ text: EventText) async throws {
    let limitMs = Int64(settings.readTimeoutSeconds) * 1000
    let timer = loop.schedule(afterMs: limitMs) { [writer, log = context.relay.log] in
      log.repeating(.info, "a listener that does not read is cut off", about: "")
      writer.cut()
    }
    defer { timer.cancel() }
    try await writer.write(text.bytes)
    lastSign = now
  }
}
