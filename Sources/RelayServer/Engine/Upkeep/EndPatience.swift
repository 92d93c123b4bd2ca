import RelayCore

/// How long a step of the search for passed deadlines waits for its ends to be on disk.
///
/// A few that do not get there hold up nobody else's deadlines; as many as a step may find do: on a
/// disk that takes nothing, there would be ever more of them in memory.
package struct EndPatience: Sendable {
  /// For so long a few are waited for, in milliseconds.
  package static let durationMs: Int64 = 10_000
  /// So many ends at least are waited for without a limit.
  package static let countMax = 2000

  private let until: MonotonicTime

  /// Begins with a step.
  package init(from now: MonotonicTime) { until = now.adding(milliseconds: Self.durationMs) }

  /// Whether the next step waits on.
  ///
  /// - Parameter count: How many ends are on their way to the disk.
  package func waits(for count: Int, at now: MonotonicTime) -> Bool {
    count > 0 && (count >= Self.countMax || now < until)
  }
}
