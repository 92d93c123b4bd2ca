import Synchronization

/// What has happened in an outbox, for everybody who reads it.
///
/// A reader that is slow loses the oldest events, and is told how many.
public struct Events: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = Event

  let stream: AsyncStream<Event>

  /// Reads the events.
  public func makeAsyncIterator() -> AsyncStream<Event>.Iterator { stream.makeAsyncIterator() }
}

/// Hands events to those who read them.
final class EventHub: Sendable {
  /// The most events that wait for one reader.
  static let waitingMax = 1000

  private struct Reader {
    let continuation: AsyncStream<Event>.Continuation
    let isMeant: @Sendable (Event) -> Bool
    var missed = 0
  }

  private struct State {
    var readers: [Int: Reader] = [:]
    var next = 0
    var isClosed = false
    /// What happened before anybody could read.
    var kept: [Event] = []
  }

  private let state = Mutex(State())

  /// The events from now on that are meant.
  func events(_ isMeant: @escaping @Sendable (Event) -> Bool) -> Events {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Event.self, bufferingPolicy: .bufferingNewest(Self.waitingMax))
    let number: Int? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.next += 1
      state.readers[state.next] = Reader(continuation: continuation, isMeant: isMeant)
      for event in state.kept { continuation.yield(event) }
      state.kept = []
      return state.next
    }
    guard let number else {
      continuation.finish()
      return Events(stream: stream)
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.readers.removeValue(forKey: number) }
    }
    return Events(stream: stream)
  }

  /// Keeps an event for the first who reads.
  func keep(_ event: Event) { state.withLock { $0.kept.append(event) } }

  /// Hands an event to all readers.
  func tell(_ event: Event) {
    state.withLock { state in
      for number in state.readers.keys {
        guard var reader = state.readers[number], reader.isMeant(event) else { continue }
        if reader.missed > 0, case .enqueued = reader.continuation.yield(.missed(reader.missed)) {
          reader.missed = 0
        }
        if case .dropped = reader.continuation.yield(event) { reader.missed += 1 }
        state.readers[number] = reader
      }
    }
  }

  /// There will be no more.
  func close() {
    let readers = state.withLock { state in
      state.isClosed = true
      defer { state.readers = [:] }
      return state.readers.values.map(\.continuation)
    }
    for reader in readers { reader.finish() }
  }
}
