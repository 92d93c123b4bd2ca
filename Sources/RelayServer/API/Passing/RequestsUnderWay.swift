import EventLoop
import RelayCore
import Synchronization

/// The requests that a relay answers itself, for as long as it may have to pass them on one day.
final class RequestsUnderWay: Sendable {
  /// Those that began before a moment, and those that began after it.
  enum Turn: Sendable {
    case earlier, later
  }

  private struct State {
    var counts = (earlier: 0, later: 0)
    /// The turn of those that begin now.
    var turn = Turn.earlier
    var isClosed = false
    var waiters: [(whose: Set<Turn>, continuation: CheckedContinuation<Void, Never>, id: Int)] = []
    var lastID = 0

    func count(of turns: Set<Turn>) -> Int {
      (turns.contains(.earlier) ? counts.earlier : 0) + (turns.contains(.later) ? counts.later : 0)
    }

    mutating func change(_ turn: Turn, by count: Int) {
      switch turn {
      case .earlier: counts.earlier += count
      case .later: counts.later += count
      }
    }

    /// Those who have waited long enough.
    mutating func takeWaiters(
      where isOver: (_ whose: Set<Turn>, _ id: Int) -> Bool
    ) -> [CheckedContinuation<Void, Never>] {
      let over = waiters.filter { isOver($0.whose, $0.id) }.map(\.continuation)
      if !over.isEmpty { waiters.removeAll { isOver($0.whose, $0.id) } }
      return over
    }
  }

  private let state = Mutex(State())

  /// A request begins to be answered here, until what is returned is let go of; nil if none is any
  /// more.
  func begin() -> Stay? {
    let turn = state.withLock { state -> Turn? in
      guard !state.isClosed else { return nil }
      state.change(state.turn, by: 1)
      return state.turn
    }
    return turn.map { Stay($0, in: self) }
  }

  /// A request that is answered here; it has its answer once nobody refers to it any more.
  final class Stay: Sendable {
    let turn: Turn
    private let all: RequestsUnderWay

    fileprivate init(_ turn: Turn, in all: RequestsUnderWay) { (self.turn, self.all) = (turn, all) }

    deinit { all.end(turn) }
  }

  /// Whether none begins any more.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  private func end(_ turn: Turn) {
    let over = state.withLock { state in
      state.change(turn, by: -1)
      let now = state
      return state.takeWaiters { whose, _ in now.count(of: whose) == 0 }
    }
    for waiter in over { waiter.resume() }
  }

  /// Waits for those that have begun before the call, but no longer than for some milliseconds.
  ///
  /// - Precondition: called once.
  func finishEarlier(withinMs: Int64, on loop: EventLoop) async {
    state.withLock { $0.turn = .later }
    await wait(for: [.earlier], withinMs, on: loop)
  }

  /// None begins any more.
  ///
  /// Waits for all that have begun, but no longer than for some milliseconds.
  func close(withinMs: Int64, on loop: EventLoop) async {
    state.withLock { $0.isClosed = true }
    await wait(for: [.earlier, .later], withinMs, on: loop)
  }

  private func wait(for whose: Set<Turn>, _ milliseconds: Int64, on loop: EventLoop) async {
    await withCheckedContinuation { continuation in
      let id = state.withLock { state -> Int? in
        guard state.count(of: whose) > 0 else { return nil }
        state.lastID += 1
        state.waiters.append((whose, continuation, state.lastID))
        return state.lastID
      }
      guard let id else { return continuation.resume() }
      _ = loop.schedule(afterMs: milliseconds) { [self] in
        let over = state.withLock { $0.takeWaiters { _, other in other == id } }
        for waiter in over { waiter.resume() }
      }
    }
  }
}
