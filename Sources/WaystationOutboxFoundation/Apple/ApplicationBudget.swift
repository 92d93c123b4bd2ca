#if canImport(UIKit) && !os(watchOS)
import UIKit
import WaystationOutbox

/// Time in the background that an app is given, by `beginBackgroundTask`.
///
/// ```swift
/// await outbox.runInBackground(ApplicationBudget(.shared))
/// ```
public struct ApplicationBudget: Budget {
  private let application: UIApplication

  /// The time of this app.
  public init(_ application: UIApplication) { self.application = application }

  /// Asks for time; if there is none, `expired` is called at once.
  public func begin(
    _ reason: String, expired: @escaping @Sendable () -> Void
  ) async -> any BudgetToken {
    let application = application
    let task = await MainActor.run {
      application.beginBackgroundTask(withName: reason) { expired() }
    }
    if task == .invalid { expired() }
    return Token(application: application, task: task)
  }

  private struct Token: BudgetToken {
    let application: UIApplication
    let task: UIBackgroundTaskIdentifier

    func end() {
      guard task != .invalid else { return }
      Task { @MainActor [application, task] in application.endBackgroundTask(task) }
    }
  }
}
#endif
