import Glibc

/// SIGHUP, for the commands that have no configuration to read again.
///
/// A SIGHUP for the relay that is sent by the program's name reaches its commands as well. They go
/// on; but a command whose terminal has gone ends, as it would at a SIGTERM.
enum HangUp {
  /// Goes on at a SIGHUP for as long as the terminal that this process has is there.
  ///
  /// A process without a terminal ignores the signal. One that was started so that it ignores the
  /// signal, as by `nohup`, stays so.
  static func ignoreWhileTerminalLasts() {
    guard !isIgnored, hasTerminal() else {
      _ = signal(SIGHUP, SIG_IGN)
      return
    }
    // All that is called here may be called in a handler (signal-safety(7)).
    _ = signal(SIGHUP) { _ in
      let code = errno
      if !HangUp.hasTerminal() { kill(getpid(), SIGTERM) }
      errno = code
    }
  }

  /// Whether the process was started with SIGHUP ignored.
  private static var isIgnored: Bool {
    var action = sigaction()
    sigaction(SIGHUP, nil, &action)
    let handler = action.__sigaction_handler.sa_handler
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Whether there is a controlling terminal (tty(4)).
  private static func hasTerminal() -> Bool {
    let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
    guard terminal >= 0 else { return false }
    close(terminal)
    return true
  }
}
