import EventLoop
import RelayCore
import Synchronization

/// Those who listen to events: told that there are new ones, and nothing else.
///
/// A listener reads the log by itself, from where it has come to. So nothing is kept for it here
/// but whether it has been told.
final class EventListeners: Sendable {
  /// Whether one more may listen.
  enum Admission {
    case admitted(EventListener)
    /// There are as many as there may be, or as many of this one's.
    case full(SharedPlaces.Refusal)
    /// The relay is shutting down.
    case closed
  }

  private struct State {
    var bells: [UInt64: EventListener.Bell] = [:]
    var places = SharedPlaces()
    var lastTicket: UInt64 = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  /// Looked at by every commit, so that one of which nobody is to be told costs nothing.
  private let count = Atomic(0)
  private let applied = Mutex<EventPosition?>(nil)

  /// The place behind the latest event of which the whole engine has been told; nil before the
  /// first.
  ///
  /// The log may already go further: a commit is on disk a moment before the engine hears of it.
  var appliedEnd: EventPosition? { applied.withLock { $0 } }

  /// Lets one more listen, for as long as the listener is kept.
  func admit(_ holder: PlaceHolder, _ limits: PlaceLimits) -> Admission {
    state.withLock { state in
      guard !state.isClosed else { return .closed }
      let place: SharedPlaces.Place
      do throws(SharedPlaces.Refusal) {
        place = try state.places.take(holder, limits)
      } catch {
        return .full(error)
      }
      state.lastTicket += 1
      let listener = EventListener(ticket: state.lastTicket, at: place, among: self)
      state.bells[state.lastTicket] = listener.bell
      count.store(state.bells.count, ordering: .sequentiallyConsistent)
      return .admitted(listener)
    }
  }

  fileprivate func remove(_ ticket: UInt64, from place: SharedPlaces.Place) {
    state.withLock { state in
      state.bells[ticket] = nil
      state.places.giveBack(place)
      count.store(state.bells.count, ordering: .sequentiallyConsistent)
    }
  }

  /// There are new events.
  func ring() {
    guard count.load(ordering: .sequentiallyConsistent) > 0 else { return }
    for bell in state.withLock({ Array($0.bells.values) }) { bell.ring() }
  }

  /// Sends everybody away, and whoever comes later.
  func close() {
    let bells = state.withLock { state in
      state.isClosed = true
      return Array(state.bells.values)
    }
    for bell in bells { bell.end() }
  }
}

extension EventListeners: CommitListener {
  /// Tells those who listen that there is something to read.
  func committed(_ commit: Commit, at now: Now) {
    guard let end = commit.eventsEnd else { return }
    begin(at: end)
    ring()
  }

  /// Notes that the engine knows of all events before a place.
  func begin(at end: EventPosition) { applied.withLock { $0 = end } }
}

/// One who listens to events; makes room for the next one when it is let go.
final class EventListener: Sendable {
  /// The end of a wait.
  enum News: Sendable {
    /// There are new events.
    case rung
    /// The time to wait is over, and nothing happened.
    case silence
    /// The listener is sent away, or has gone.
    case over
  }

  fileprivate let bell = Bell()
  private let ticket: UInt64
  private let place: SharedPlaces.Place
  private let listeners: EventListeners

  fileprivate init(
    ticket: UInt64, at place: SharedPlaces.Place, among listeners: EventListeners
  ) {
    self.ticket = ticket
    self.place = place
    self.listeners = listeners
  }

  deinit { listeners.remove(ticket, from: place) }

  /// Whether it has been sent away.
  var isOver: Bool { bell.isOver }

  /// Forgets that there were new events: those that come from now on end the next wait, or keep it
  /// from beginning.
  func rearm() { bell.rearm() }

  /// Has it told, once, when the listener is sent away; at once if that is so already.
  func onEnd(_ action: @escaping @Sendable () -> Void) { bell.onEnd(action) }

  /// Sends this one away.
  func dismiss() { bell.end() }

  /// Waits for new events, at most so long, and no longer than the task is wanted.
  func wait(on loop: EventLoop, forMs milliseconds: Int64) async -> News {
    let number = bell.nextWait()
    let timer = loop.schedule(afterMs: milliseconds) { [bell] in bell.timeOut(number) }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { bell.beginWait($0) }
    } onCancel: {
      bell.end()
    }
  }

  /// The thing that wakes a listener.
  fileprivate final class Bell: Sendable {
    private struct State {
      var isRung = false
      var isOver = false
      var lastWait: UInt64 = 0
      /// Whether the time of the last wait has run out, be it before the wait began.
      var hasTimedOut = false
      var continuation: UnsafeContinuation<News, Never>?
      var onEnd: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var isOver: Bool { state.withLock { $0.isOver } }

    func rearm() { state.withLock { $0.isRung = false } }

    func onEnd(_ action: @escaping @Sendable () -> Void) {
      let isOver = state.withLock { state in
        if !state.isOver { state.onEnd = action }
        return state.isOver
      }
      if isOver { action() }
    }

    /// Announces a wait, and returns its number.
    func nextWait() -> UInt64 {
      state.withLock { state in
        state.lastWait += 1
        state.hasTimedOut = false
        return state.lastWait
      }
    }

    func beginWait(_ continuation: UnsafeContinuation<News, Never>) {
      let news = state.withLock { state -> News? in
        if state.isOver { return .over }
        if state.isRung { return .rung }
        if state.hasTimedOut { return .silence }
        state.continuation = continuation
        return nil
      }
      if let news { continuation.resume(returning: news) }
    }

    func finishWait(_ news: News) {
      let continuation = state.withLock { state in
        defer { state.continuation = nil }
        return state.continuation
      }
      continuation?.resume(returning: news)
    }

    /// The time of a wait has run out; one that has ended already is not meant.
    func timeOut(_ number: UInt64) {
      let continuation = state.withLock { state -> UnsafeContinuation<News, Never>? in
        guard state.lastWait == number else { return nil }
        state.hasTimedOut = true
        defer { state.continuation = nil }
        return state.continuation
      }
      continuation?.resume(returning: .silence)
    }

    func ring() {
      state.withLock { $0.isRung = true }
      finishWait(.rung)
    }

    func end() {
      let action = state.withLock { state in
        state.isOver = true
        defer { state.onEnd = nil }
        return state.onEnd
      }
      finishWait(.over)
      action?()
    }
  }
}
