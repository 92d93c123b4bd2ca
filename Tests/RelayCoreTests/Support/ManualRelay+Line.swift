@testable import RelayCore

extension ManualRelay {
  /// Whether what a transition changes stands in the line still.
  func isThere(_ transition: Transition) -> Bool {
    if case .requeue = transition.change { return true }
    return place(of: transition.serial) != nil
  }

  /// The place of an envelope in the line, which is in the order of their numbers.
  func place(of serial: Serial) -> Int? {
    var (low, high) = (0, line.count)
    while low < high {
      let middle = (low + high) / 2
      if line[middle].serial < serial { low = middle + 1 } else { high = middle }
    }
    if low < line.count, line[low].serial == serial { return low }
    // A test may have put it together in another order.
    return line.firstIndex { $0.serial == serial }
  }
}
