/// Which listeners have a route.
///
/// Where a listener is for devices, or for operators, alone, its router knows none of the others'
/// routes: they are answered like any path that does not exist.
enum RouteAudience: Sendable {
  /// Handing over: not on an operators' listener.
  case devices
  /// Watching and steering the relay as a whole: not on a devices' listener.
  case operators
  /// Asking about envelopes and steering them, and health: on every listener.
  case both

  /// Whether a listener for `audience` has such routes; nil is a listener for everybody.
  func isServed(to audience: ListenerConfiguration.Audience?) -> Bool {
    switch (self, audience) {
    case (.both, _), (_, nil), (.devices, .devices), (.operators, .operators): true
    case (.devices, .operators), (.operators, .devices): false
    }
  }
}
