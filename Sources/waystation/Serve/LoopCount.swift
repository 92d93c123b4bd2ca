import Glibc

/// The number of event loops that serve the senders.
enum LoopCount {
  /// The most loops; with more, the store's single writer is the limit long before the loops are.
  static let largest = 4

  /// One loop for one or two processors, else one for every two of them: the store's writer, the
  /// forwarder and SQLite's own work want processors too.
  static func forProcessors(_ count: Int) -> Int {
    count <= 2 ? 1 : min(largest, count / 2)
  }

  /// The number of processors of the machine that are online.
  static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
