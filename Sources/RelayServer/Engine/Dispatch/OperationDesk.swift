import EventLoop
import RelayCore
import Synchronization

/// Knows which operations run, and how far they have come.
final class OperationDesk: Sendable {
  /// One that runs, or ran until lately.
  private struct Entry {
    var operation: Operation
    /// Grows with each change of any of them.
    var version: UInt64
    var isToStop = false
  }

  private struct State {
    var entries: [Int64: Entry] = [:]
    /// Those that run, or are about to.
    var places = SharedPlaces()
    var version: UInt64 = 0
  }

  /// The most ended operations that are kept for listeners.
  private static let endedMax = 16

  private let state = Mutex(State())
  /// Tells those who listen that there is news.
  private let ring: @Sendable () -> Void

  init(ring: @escaping @Sendable () -> Void) { self.ring = ring }

  /// Takes a place for one more, to be given back by ``end(_:at:)`` or ``giveBack(_:)``.
  func take(
    _ holder: PlaceHolder, _ limits: PlaceLimits
  ) throws(SharedPlaces.Refusal) -> SharedPlaces.Place {
    try state.withLock { (state) throws(SharedPlaces.Refusal) in
      try state.places.take(holder, limits)
    }
  }

  /// Gives a place back for an operation that did not begin.
  func giveBack(_ place: SharedPlaces.Place) { state.withLock { $0.places.giveBack(place) } }

  /// One has begun, or has come further.
  func note(_ operation: Operation) {
    state.withLock { state in
      state.version += 1
      let isToStop = state.entries[operation.number]?.isToStop ?? false
      state.entries[operation.number] = Entry(
        operation: operation, version: state.version, isToStop: isToStop)
    }
    ring()
  }

  /// One is over, and that is noted.
  func end(_ operation: Operation, at place: SharedPlaces.Place) {
    note(operation)
    state.withLock { state in
      state.places.giveBack(place)
      let ended = state.entries.values.filter { $0.operation.state != .running }
      for entry in ended.sorted(by: { $0.version > $1.version }).dropFirst(Self.endedMax) {
        state.entries[entry.operation.number] = nil
      }
    }
  }

  /// Has one stopped; false if it does not run.
  func stop(_ number: Int64) -> Bool {
    state.withLock { state in
      guard state.entries[number]?.operation.state == .running else { return false }
      state.entries[number]?.isToStop = true
      return true
    }
  }

  /// Whether somebody wants one stopped.
  func isToStop(_ number: Int64) -> Bool {
    state.withLock { $0.entries[number]?.isToStop ?? false }
  }

  /// One that runs, or ran until lately.
  func operation(_ number: Int64) -> Operation? {
    state.withLock { $0.entries[number]?.operation }
  }

  /// The operations that are new since a version; at first, those that run.
  func news(since version: inout UInt64?) -> [Operation] {
    state.withLock { state in
      let seen = version
      version = state.version
      return state.entries.values
        .filter { entry in seen.map { entry.version > $0 } ?? (entry.operation.state == .running) }
        .map(\.operation).sorted { $0.number < $1.number }
    }
  }
}
