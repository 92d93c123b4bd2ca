import Glibc

/// How many event loops serve the senders.
enum LoopCount {
  /// More than this, and the one writer of the store is the limit long before the loops are.
  static let largest = 4

  /// One for one or two processors, else one for every two of them: the store's writer, the
  /// forwarder and SQLite's own work want processors too.
  static func forProcessors(_ count: Int) -> Int {
    count <= 2 ? 1 : min(largest, count / 2)
  }

  /// The processors of the machine that are switched on.
  static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
