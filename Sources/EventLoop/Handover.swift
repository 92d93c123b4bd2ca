import Synchronization

// Sound: the maker gives the value up when it puts it in here, and `take()` returns it once. So at
// every moment one thread has it.
/// Passes a value that is not `Sendable` to the one thread that uses it from then on.
package final class Handover<Value: ~Copyable>: @unchecked Sendable {
  private var value: Value?
  private let isTaken = Atomic(false)

  /// Puts the value in; the caller must not use it any more.
  package init(_ value: consuming Value) { self.value = consume value }

  /// Takes the value out, once.
  package func take() -> Value {
    let wasTaken = isTaken.exchange(true, ordering: .acquiringAndReleasing)
    guard !wasTaken, let taken = value.take() else { preconditionFailure("handed over once") }
    return taken
  }
}
