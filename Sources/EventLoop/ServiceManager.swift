import CLinux
import Glibc
import RelayCore

/// The service manager that started this process, if it wants to be notified (sd_notify(3)).
package final class ServiceManager: Sendable {
  /// A notification.
  package enum Message: Sendable {
    /// The relay has started, or has taken up another configuration.
    case ready
    /// The relay reads its configuration again; ``ready`` follows.
    case reloading
    /// The relay is about to end.
    case stopping
    /// The relay is alive; wanted every ``ServiceManager/watchdogPeriodMs``.
    case alive
    /// The relay's state in words, on one line.
    case status(String)
  }

  private let socket: FileDescriptor
  private let address: String

  /// The interval of its watchdog messages in milliseconds: half the time after which it would end
  /// this process; nil if it wants none (sd_watchdog_enabled(3)).
  package let watchdogPeriodMs: Int64?

  /// The longest time for a message if nobody reads them.
  private static let sendTimeoutSeconds = 1

  /// The service manager named in variables (`NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`);
  /// nil if there is none, or if it cannot be reached by a Unix socket.
  ///
  /// - Parameter process: The process that the watchdog has to be meant for.
  package init?(environment: [String: String], process: Int32 = getpid()) {
    guard let address = environment["NOTIFY_SOCKET"], address.utf8.count > 1,
      address.utf8.count <= Endpoint.unixPathBytesMax,
      address.hasPrefix("/") || address.hasPrefix("@")
    else { return nil }
    let number = waystation_datagram_socket()
    guard number >= 0 else { return nil }
    socket = FileDescriptor(adopting: number)
    self.address = address
    var limit = timeval(tv_sec: Self.sendTimeoutSeconds, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let meant = environment["WATCHDOG_PID"].map { Int32($0) } ?? process
    let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
    watchdogPeriodMs = meant == process && microseconds > 0 ? max(1, microseconds / 2000) : nil
  }

  /// Sends messages; may wait for up to a second, so not on a loop that serves.
  ///
  /// - Returns: false if nobody has taken them.
  @discardableResult
  package func tell(_ messages: Message...) -> Bool {
    let bytes = Array(messages.map(\.text).joined(separator: "\n").utf8)
    while true {
      let count = address.withCString {
        waystation_send_to_unix(socket.number, $0, address.utf8.count, bytes, bytes.count)
      }
      if count >= 0 { return true }
      guard errno == EINTR else { return false }
    }
  }
}

extension ServiceManager.Message {
  /// The text by sd_notify(3).
  fileprivate var text: String {
    switch self {
    case .ready: "READY=1"
    case .reloading:
      "RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.now().nanoseconds / 1000)"
    case .stopping: "STOPPING=1"
    case .alive: "WATCHDOG=1"
    case .status(let words): "STATUS=\(words.split(separator: "\n").joined(separator: " "))"
    }
  }
}
