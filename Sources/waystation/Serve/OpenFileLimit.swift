import Glibc

/// How many descriptors this process may have open at once.
enum OpenFileLimit {
  /// What is open besides the senders' connections: the store's files, connections to upstreams,
  /// bodies on their way, event loops.
  static let reserve = 1024

  /// Raises the limit as far as it may be raised, where it is below what is needed.
  ///
  /// - Returns: The limit in force, if it is still too low; nil if it is enough.
  static func raise(toHold connectionsMax: Int) -> Int? {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return nil }
    let needed = rlim_t(connectionsMax + reserve)
    guard limit.rlim_cur < needed else { return nil }
    limit.rlim_cur = limit.rlim_max
    // A limit may always be raised up to the hard one: setrlimit(2).
    _ = setrlimit(resource, &limit)
    return limit.rlim_cur < needed ? Int(clamping: limit.rlim_cur) : nil
  }
}
