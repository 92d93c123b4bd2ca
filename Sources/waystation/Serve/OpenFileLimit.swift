import Glibc

/// The limit on open descriptors of this process.
enum OpenFileLimit {
  /// The descriptors for all but the senders' connections: the store's files, connections to
  /// upstreams, bodies in transit, event loops.
  static let reserve = 1024

  /// Raises the limit to the hard limit, if it is below what is needed.
  ///
  /// - Returns: The limit in force, if it is still too low; nil if it is enough, or is not known.
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
