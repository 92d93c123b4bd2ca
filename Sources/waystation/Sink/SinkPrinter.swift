import EventLoop
import Synchronization

/// Prints lines as they come: a single line at once, many with one write under load.
final class SinkPrinter: Sendable {
  private struct Pending {
    var bytes: [UInt8] = []
    var isScheduled = false
  }

  private let pending = Mutex(Pending())
  private let loop: EventLoop

  init(on loop: EventLoop) {
    self.loop = loop
  }

  /// Prints a line at the end of the loop's current round.
  func print(_ line: [UInt8]) {
    let isFirst = pending.withLock { pending in
      pending.bytes += line
      defer { pending.isScheduled = true }
      return !pending.isScheduled
    }
    // A slow reader holds up the loop, and with it the senders: nothing piles up here.
    if isFirst { loop.execute { self.flush() } }
  }

  /// Prints the pending lines.
  func flush() {
    let bytes = pending.withLock { pending in
      defer { pending = Pending() }
      return pending.bytes
    }
    StandardStream.output.write(bytes)
  }
}
