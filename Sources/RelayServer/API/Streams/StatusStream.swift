import EventLoop
import HTTPServer
import RelayCore

/// The content of `/status`, sent anew whenever something has changed, at most once a second.
///
/// Nothing is queued for the peer: each message is the state at that moment. While nothing changes,
/// only signs of life are sent.
struct StatusStream {
  /// The least time between two looks, in milliseconds.
  static let periodMs: Int64 = 1000

  private let context: EndpointContext
  private let listener: EventListener
  private let writer: ResponseWriter
  private var lastSign: MonotonicTime
  /// Whether the last one lacks what could not be asked for.
  private var isPartial = false
  /// Up to where operations were told of; nil before the first time.
  private var operationsSeen: UInt64?

  init(_ context: EndpointContext, _ listener: EventListener, _ writer: ResponseWriter) {
    self.context = context
    self.listener = listener
    self.writer = writer
    lastSign = context.relay.now().monotonic
  }

  private var loop: EventLoop { context.relay.dispatcher.loop }
  private var now: MonotonicTime { context.relay.now().monotonic }
  private var settings: EventsConfiguration { context.relay.configuration.events }
  /// Whether there is somebody to be told, who still may be.
  private var isWanted: Bool {
    !listener.isOver && !Task.isCancelled
      && context.relay.access.isGood(context.caller, at: context.relay.now().wall)
  }

  /// Goes on until the peer has gone, is cut off, or is sent away.
  ///
  /// - Throws: What the connection or the store said; the peer then comes back by itself.
  mutating func run() async throws {
    listener.onEnd { [loop, writer] in
      loop.schedule(afterMs: EventStream.partingMs) { writer.cut() }
    }
    let access = context.relay.access
    let watch = access.watch(context.caller, at: context.relay.now().wall) { [listener, writer] in
      listener.dismiss()
      writer.cut()
    }
    defer { withExtendedLifetime(watch) {} }
    var text = EventText()
    text.retry(afterMs: EventStream.retryMs)
    var isChanged = true
    while isWanted {
      if isChanged {
        // Before the look: what changes from now on is told by the next one.
        listener.rearm()
        for operation in context.relay.operations.news(since: &operationsSeen) {
          text.event("operation", data: operation.json())
        }
        let status = try await GetStatus(context).view()
        isPartial = status.isPartial
        text.event("status", data: status.json())
        try await send(text)
        text = EventText()
        await loop.sleep(until: lastSign.adding(milliseconds: Self.periodMs))
      }
      guard isWanted else { return }
      isChanged = try await waitForChange()
    }
  }

  /// Waits until something changes; shows the peer now and then that the connection is alive.
  private mutating func waitForChange() async throws -> Bool {
    let heartbeatMs = Int64(settings.heartbeatSeconds) * 1000
    let leftMs = max(0, heartbeatMs - now.milliseconds(since: lastSign))
    switch await listener.wait(on: loop, forMs: leftMs) {
    case .rung: return true
    case .over: return false
    case .silence: break
    }
    guard now.milliseconds(since: lastSign) >= heartbeatMs else { return false }
    // Nothing need change when the store can be asked again.
    if isPartial { return true }
    var text = EventText()
    text.comment()
    try await send(text)
    return false
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
