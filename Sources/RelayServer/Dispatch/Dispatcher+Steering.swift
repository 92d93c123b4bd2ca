import EventLoop
import RelayCore
import Synchronization

/// A command's verdict, once what it asked for is durable.
package enum SteeringResult: Sendable, Equatable {
  /// It is done, and on disk.
  case done
  /// It was not done, for this reason; never ``CommandVerdict/recording``.
  case refused(CommandVerdict)
  /// It is on its way to the disk still: the store cannot write just now. It will be done.
  case delayed
}

// How endpoints change what waits.
extension Dispatcher {
  /// How long a command waits for the disk, in milliseconds.
  static let steeringPatienceMs: Int64 = 10_000

  /// Has a command carried out, and waits until that is durable.
  ///
  /// - Parameter entry: The envelope's place as the store showed it a moment ago.
  package func steer(_ command: Command, _ entry: LineEntry) async -> SteeringResult {
    guard let waiter = changes.register(entry.serial) else { return .refused(.busy) }
    defer { changes.remove(waiter) }
    let verdict = apply { state, now in state.scheduler.obey(command, of: entry, now: now) }
    guard verdict == .recording else { return .refused(verdict) }
    let isDone = await waiter.wait(on: loop, forMs: Self.steeringPatienceMs)
    return isDone ? .done : .delayed
  }
}
