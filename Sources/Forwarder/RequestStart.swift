import RelayCore

/// The beginning of a request on a connection.
package struct RequestStart {
  /// The connection's local port, as libcurl reports it.
  package let localPort: Int32
  /// The time.
  package let at: MonotonicTime

  /// Describes a start; see the properties for what each part means.
  package init(localPort: Int32, at: MonotonicTime) {
    self.localPort = localPort
    self.at = at
  }

  /// The silence of the connection after which it counts as dead if its attempt times out, in
  /// milliseconds; nil if the timeout proves nothing.
  ///
  /// It is the time that the request was on the connection, or the idle timeout if that has passed.
  /// A request that spent most of its time waiting for a connection was on it too shortly to tell.
  package func silenceThatProvesDeathMs(
    attemptBegan: MonotonicTime, idleTimeoutMs: Int?, at now: MonotonicTime
  ) -> Int64? {
    let passedMs = now.milliseconds(since: at)
    if let idleTimeoutMs, passedMs >= Int64(idleTimeoutMs) { return Int64(idleTimeoutMs) }
    return passedMs >= now.milliseconds(since: attemptBegan) / 2 ? passedMs : nil
  }
}
