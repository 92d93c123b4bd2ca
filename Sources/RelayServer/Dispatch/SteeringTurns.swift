import EventLoop
import RelayCore
import Synchronization

/// Lets one command at a time change an envelope: from before the envelope is looked up until what
/// was asked for is durable, so that no command goes by what another one has changed.
///
/// An envelope is known by the number in its id, which stays though the envelope may move.
final class SteeringTurns: Sendable {
  private enum Turn {
    /// Somebody looks at the envelope and decides.
    case taken
    /// The change is on its way to the disk, and ends the turn by itself.
    case handedOver
  }

  private let turns = Mutex<[Serial: Turn]>([:])
  /// Of changes on their way to the disk, whose turn each ends, where that is not its own number.
  private let owners = Mutex<[Serial: Serial]>([:])
  private let waiters = SettlementWaiters()

  /// Waits for the turn, at most so long.
  ///
  /// - Returns: Whether it came; who has it gives it back.
  func take(_ serial: Serial, on loop: EventLoop, withinMs milliseconds: Int64) async -> Bool {
    let deadline = MonotonicClock.now().adding(milliseconds: milliseconds)
    while true {
      // Registered first, so that a turn which ends in between is not missed.
      guard let waiter = waiters.register(serial) else { return false }
      defer { waiters.remove(waiter) }
      let isFree = turns.withLock { turns in
        guard turns[serial] == nil else { return false }
        turns[serial] = .taken
        return true
      }
      if isFree { return true }
      let leftMs = deadline.milliseconds(since: MonotonicClock.now())
      guard leftMs > 0, await waiter.wait(on: loop, forMs: leftMs) else { return false }
    }
  }

  /// Ends a turn, unless the change is on its way to the disk: then ``recorded(_:)`` does.
  func giveBack(_ serial: Serial) { end(serial, if: .taken) }

  /// The change is on its way to the disk.
  ///
  /// - Parameter place: The number of the envelope's place, if it is not the one in its id.
  func handOver(_ serial: Serial, at place: Serial) {
    if place != serial { owners.withLock { $0[place] = serial } }
    turns.withLock { $0[serial] = .handedOver }
  }

  /// Changes are durable.
  func recorded(_ serials: some Sequence<Serial>) {
    guard turns.withLock({ !$0.isEmpty }) else { return }
    for place in serials {
      let owner = owners.withLock { $0.removeValue(forKey: place) }
      end(owner ?? place, if: .handedOver)
    }
  }

  private func end(_ serial: Serial, if turn: Turn) {
    let hasEnded = turns.withLock { turns in
      guard turns[serial] == turn else { return false }
      turns[serial] = nil
      return true
    }
    if hasEnded { waiters.settle(CollectionOfOne(serial)) }
  }
}
