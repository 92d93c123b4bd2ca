/// Knows of the connection.
///
/// What it says is a hint: a timer always runs beside it.
public protocol Reachability: Sendable {
  /// What is known now, and then each change.
  func changes() -> AsyncStream<Link>
}

/// Nothing is known: there may always be a connection.
public struct AlwaysOpen: Reachability {
  /// Nothing is known.
  public init() {}

  /// Nothing changes.
  public func changes() -> AsyncStream<Link> {
    AsyncStream { continuation in
      continuation.yield(.open)
      continuation.finish()
    }
  }
}

/// Says whether an item is ready to go: the app's own conditions.
public protocol Readiness: Sendable {
  /// Asked before an item is first put into a post.
  func isReady(_ item: Item) async -> Ready
}

/// Whether an item is ready.
public enum Ready: Sendable, Hashable {
  /// It may go.
  case now
  /// It is passed over.
  ///
  /// It is asked for again after so long, or when the outbox is woken.
  case skip(retryAfter: Duration?)
}

/// Every item is ready.
public struct AlwaysReady: Readiness {
  /// Every item is ready.
  public init() {}

  /// It is.
  public func isReady(_ item: Item) async -> Ready { .now }
}
