import RelayCore

/// A request's beginning on a connection.
package struct Beginning {
  /// The connection's local port, as libcurl tells it.
  package let localPort: Int32
  /// When it was.
  package let at: MonotonicTime

  /// A beginning; see the properties for what each part means.
  package init(localPort: Int32, at: MonotonicTime) {
    self.localPort = localPort
    self.at = at
  }

  /// For how long nothing may have come on the connection for it to count as dead, in milliseconds,
  /// if the attempt ends since it has taken too long; nil if that shows nothing.
  ///
  /// It is as long as the request was on the connection, or the idle timeout if that is over. A
  /// request that waited for a connection most of its time was on it too shortly to tell.
  package func silenceThatProvesDeathMs(
    attemptBegan: MonotonicTime, idleTimeoutMs: Int?, at now: MonotonicTime
  ) -> Int64? {
    let passedMs = now.milliseconds(since: at)
    if let idleTimeoutMs, passedMs >= Int64(idleTimeoutMs) { return Int64(idleTimeoutMs) }
    return passedMs >= now.milliseconds(since: attemptBegan) / 2 ? passedMs : nil
  }
}
