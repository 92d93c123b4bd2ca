#if PostgreSQL
/// How many rows of the line one step counts.
///
/// Each step names every lane that it meets, so few long ones are faster than many short ones. But
/// the database must not be silent for long: a slow one is asked for less.
struct CountingPace: Sendable {
  /// How long a step is to take, in milliseconds: a small part of what is borne as silence.
  static let durationMs: ClosedRange<Int64> = 200...800

  /// The rows of the next step.
  private(set) var step: Int
  private let bounds: ClosedRange<Int>

  /// Begins with a step that is short on every machine.
  init(step: Int = 131_072, in bounds: ClosedRange<Int> = 65_536...2_097_152) {
    self.step = step
    self.bounds = bounds
  }

  /// Notes how long a step took.
  mutating func note(durationMs: Int64) {
    if durationMs < Self.durationMs.lowerBound {
      step = min(step * 2, bounds.upperBound)
    } else if durationMs > Self.durationMs.upperBound {
      step = max(step / 2, bounds.lowerBound)
    }
  }
}
#endif
