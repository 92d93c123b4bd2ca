/// The rules by which what was parked gets into line: in the order of its sequence numbers, once
/// nothing is missing before it.
package enum PlacingRules {
  /// What comes next in a lane in which something is parked.
  package enum Step: Equatable, Sendable {
    /// This envelope, which came with the next number, moves to the end of the line.
    case move(Serial)
    /// Nothing came under the numbers up to this one, and nobody waits for them.
    case pass(through: Int64)
    /// The next number is missing.
    case wait
  }

  /// Decides what comes next, as long as the lane has taken greater numbers than stand in line.
  ///
  /// - Parameters:
  ///   - serial: The envelope that came with the next number; nil if none did.
  ///   - gap: The gap that this number lies in; need not be known if it has come.
  package static func step(serial: Serial?, gap: SequenceGap?) -> Step {
    if let serial { return .move(serial) }
    guard let gap, gap.isSkipped else { return .wait }
    return .pass(through: gap.range.last)
  }
}
