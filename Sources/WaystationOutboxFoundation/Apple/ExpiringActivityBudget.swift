#if canImport(UIKit)
import Dispatch
import Foundation
import Synchronization
import UIKit
import WaystationOutbox

/// Time in the background that an app or an extension of one is given, by
/// `performExpiringActivity`.
public struct ExpiringActivityBudget: Budget {
  /// The time of this process.
  public init() {}

  /// Asks for time; if there is none, `expired` is called at once.
  public func begin(
    _ reason: String, expired: @escaping @Sendable () -> Void
  ) async -> any BudgetToken {
    let activity = Activity()
    await withCheckedContinuation { continuation in
      activity.begin(continuation)
      ProcessInfo.processInfo.performExpiringActivity(withReason: reason) { isExpired in
        if isExpired { expired() }
        activity.answered()
        // The activity lasts as long as this does not return.
        if !isExpired { activity.untilEnd.wait() }
      }
    }
    return activity
  }

  private final class Activity: BudgetToken {
    let untilEnd = DispatchSemaphore(value: 0)
    private let waiter = Mutex<CheckedContinuation<Void, Never>?>(nil)

    func begin(_ continuation: CheckedContinuation<Void, Never>) {
      waiter.withLock { $0 = continuation }
    }

    /// The system has answered; it does so a second time when the time is over.
    func answered() {
      let waiting = waiter.withLock { waiter in
        defer { waiter = nil }
        return waiter
      }
      waiting?.resume()
    }

    func end() { untilEnd.signal() }
  }
}
#endif
