import RelayCore

/// What other threads want of the forwarder, until its thread gets to it.
struct ForwarderInbox: Sendable {
  /// What is to be called off.
  enum Cancellation: Sendable {
    case none
    case some(Set<Serial>)
    case all
  }

  /// Attempts to begin, in this order.
  var requests: [AttemptRequest] = []
  /// Attempts to call off, those in ``requests`` included.
  var cancellation = Cancellation.none
  /// Whether the thread is to end.
  var isStopping = false
  /// Whether the thread sleeps and has to be woken for this.
  var isAsleep = false

  /// Whether there is nothing to do.
  var isEmpty: Bool {
    if case .none = cancellation { requests.isEmpty && !isStopping } else { false }
  }

  /// Adds to what is to be called off.
  mutating func cancel(_ serials: some Sequence<Serial>) {
    switch cancellation {
    case .none: cancellation = .some(Set(serials))
    case .some(let before): cancellation = .some(before.union(serials))
    case .all: break
    }
  }
}

extension ForwarderInbox.Cancellation {
  /// Whether the attempt is to be called off.
  func contains(_ serial: Serial) -> Bool {
    switch self {
    case .none: false
    case .some(let serials): serials.contains(serial)
    case .all: true
    }
  }
}
