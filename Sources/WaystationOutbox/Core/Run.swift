/// One call of ``Outbox/run(_:within:)``: each of its items is decided once.
struct Run: Sendable {
  /// The items that are not decided, in their order.
  var undecided: Set<Int64>
  var delivered: [Int64] = []
  var failed: [(Int64, Outcome)] = []
  var skipped: [(Int64, SkipReason)] = []

  /// Whether it takes all that was meant.
  let isComplete: Bool

  init(_ items: [Int64], isComplete: Bool) {
    undecided = Set(items)
    self.isComplete = isComplete
  }

  /// The report as it is now.
  var report: RunReport {
    RunReport(
      delivered: delivered.sorted().map { Item.ID(raw: $0) },
      failed: failed.sorted { $0.0 < $1.0 }.map { (Item.ID(raw: $0.0), $0.1) },
      skipped: skipped.sorted { $0.0 < $1.0 }.map { (Item.ID(raw: $0.0), $0.1) },
      pending: undecided.sorted().map { Item.ID(raw: $0) }, isComplete: isComplete)
  }

  mutating func decide(_ item: Int64, _ outcome: Outcome) {
    guard undecided.remove(item) != nil else { return }
    switch outcome {
    case .delivered: delivered.append(item)
    case .cancelled: skipped.append((item, .cancelled))
    default: failed.append((item, outcome))
    }
  }

  mutating func skip(_ item: Int64, _ reason: SkipReason) {
    guard undecided.remove(item) != nil else { return }
    skipped.append((item, reason))
  }
}
