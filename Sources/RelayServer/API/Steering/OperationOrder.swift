import RelayCore

/// The order in which an operation acts on the envelopes that it has found.
///
/// What is put back in line is put back as its lane sends it, so that nothing is sent before what
/// belongs before it. What is cancelled goes from the end of its lane, and what blocks a lane goes
/// last, so that nothing comes to the head of a lane that is about to be cancelled itself.
struct OperationOrder {
  /// An envelope that is to be acted on.
  struct Item {
    let id: EnvelopeID
    let lane: LaneNumber
  }

  private let action: Operation.Action
  private var backwards: [Item] = []
  private var forwards: [Item] = []
  private var last: [Item] = []

  /// The number of envelopes.
  var count: Int { backwards.count + forwards.count + last.count }

  init(_ action: Operation.Action) { self.action = action }

  /// Adds the next envelope by the order of acceptance.
  mutating func add(_ envelope: EnvelopeSummary, order: LaneOrder) {
    let item = Item(id: envelope.id, lane: envelope.lane)
    switch (action, order) {
    case (.cancel, _) where envelope.fate.state == .blocked: last.append(item)
    case (.cancel, .strict), (.requeue, .latest): backwards.append(item)
    default: forwards.append(item)
    }
  }

  /// All of them, in that order.
  var items: [Item] { backwards.reversed() + forwards + last }
}

extension Operation.Action {
  /// Whether the envelopes of a lane are acted on one behind the other.
  ///
  /// Of those that are retried or discarded each blocks a lane. A replay keeps the order by itself.
  var isInOrder: Bool {
    switch self {
    case .requeue, .cancel: true
    case .retry, .discard, .replay: false
    }
  }
}
