import EventLoop
import RelayCore

/// A progress bar on standard error, if that is a terminal.
final class ProgressBar {
  private let line = ProgressLine()
  private var shownAt: Int64 = 0
  private static let width = 24
  private static let everyMs: Int64 = 100

  /// Shows the progress, at most ten times a second.
  ///
  /// - Parameter share: The part that is done, from 0 to 1; nil if it is not known.
  func show(_ share: Double?, _ text: String) {
    let now = MonotonicClock.now().nanoseconds / 1_000_000
    guard now - shownAt >= Self.everyMs else { return }
    shownAt = now
    guard let share else { return line.show(text) }
    let full = Int(min(max(share, 0), 1) * Double(Self.width))
    let bar =
      String(repeating: "█", count: full) + String(repeating: "░", count: Self.width - full)
    line.show("\(bar) \(Int(min(max(share, 0), 1) * 100)) %  \(text)")
  }

  func clear() { line.clear() }
}
