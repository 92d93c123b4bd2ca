import EventLoop
import Glibc

/// SIGTERM and SIGINT, held back while a command has something to undo, and asked for in between.
struct PendingStop {
  private static let signals = [SIGTERM, SIGINT]

  /// Begins to hold them back, in this thread and in those that it starts.
  init() { Signals.block(Self.signals) }

  /// Whether one of them has come.
  var isRequested: Bool {
    var pending = sigset_t()
    guard sigpending(&pending) == 0 else { return false }
    return Self.signals.contains { sigismember(&pending, $0) == 1 }
  }

  /// Lets them through: one that has come ends the process here.
  func release() { Signals.unblock(Self.signals) }
}
