import EventLoop
import RelayCore
import Synchronization

/// Lets one command at a time change an envelope: from before the envelope is looked up until what
/// was asked for is durable, so that no command goes by what another one has changed.
///
/// An envelope is known by the number that it was accepted under, which stays though it may move.
final class SteeringTurns: Sendable {
  /// A turn that was taken.
  ///
  /// Told from those before and after it by its ticket: who no longer has it ends nobody else's.
  struct Turn: Sendable {
    /// The number that the envelope was accepted under.
    let serial: Serial
    fileprivate let ticket: UInt64
  }

  private struct Table {
    /// The tickets of those who look at an envelope and decide, or whose change is on its way.
    var tickets: [Serial: UInt64] = [:]
    /// The holders whose changes are on their way to the disk, and end the turn by themselves.
    var handedOver: Set<UInt64> = []
    /// The turns that these changes end, by the places that they are about.
    var places: [Serial: Turn] = [:]
    var lastTicket: UInt64 = 0

    /// Whether somebody has a turn still.
    func holds(_ turn: Turn) -> Bool { tickets[turn.serial] == turn.ticket }

    mutating func end(_ turn: Turn) -> Bool {
      guard holds(turn) else { return false }
      tickets[turn.serial] = nil
      handedOver.remove(turn.ticket)
      return true
    }
  }

  private let table = Mutex(Table())
  private let waiters = SettlementWaiters()

  /// Waits for the turn, at most so long.
  ///
  /// - Returns: The turn, to be given back; nil if it did not come.
  func take(_ serial: Serial, on loop: EventLoop, withinMs milliseconds: Int64) async -> Turn? {
    let deadline = MonotonicClock.now().adding(milliseconds: milliseconds)
    while true {
      // Registered first, so that a turn which ends in between is not missed.
      guard let waiter = waiters.register(serial) else { return nil }
      defer { waiters.remove(waiter) }
      if let turn = takeIfFree(serial) { return turn }
      let leftMs = deadline.milliseconds(since: MonotonicClock.now())
      guard leftMs > 0, await waiter.wait(on: loop, forMs: leftMs) else { return nil }
    }
  }

  private func takeIfFree(_ serial: Serial) -> Turn? {
    table.withLock { table in
      guard table.tickets[serial] == nil else { return nil }
      table.lastTicket += 1
      table.tickets[serial] = table.lastTicket
      return Turn(serial: serial, ticket: table.lastTicket)
    }
  }

  /// Ends a turn, unless it has ended, or the change is on its way to the disk: then
  /// ``ended(_:)`` does.
  func giveBack(_ turn: Turn) {
    let hasEnded = table.withLock { table in
      !table.handedOver.contains(turn.ticket) && table.end(turn)
    }
    if hasEnded { waiters.settle(CollectionOfOne(turn.serial)) }
  }

  /// The change is on its way to the disk, and ends the turn by itself; nothing happens if the turn
  /// has ended.
  ///
  /// - Parameter place: The number of the envelope's place, which need not be the one in its id.
  func handOver(_ turn: Turn, at place: Serial) {
    table.withLock { table in
      guard table.holds(turn) else { return }
      table.handedOver.insert(turn.ticket)
      table.places[place] = turn
    }
  }

  /// Changes are durable, or could not be written.
  func ended(_ places: some Sequence<Serial>) {
    let ended = table.withLock { table -> [Serial] in
      guard !table.places.isEmpty else { return [] }
      return places.compactMap { place in
        guard let turn = table.places.removeValue(forKey: place), table.end(turn) else {
          return nil
        }
        return turn.serial
      }
    }
    waiters.settle(ended)
  }
}
