// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What the library uses of UIKit, and of the Foundation that comes with it, without any content:
// scripts/check-snippets compiles against it.
import Foundation

public struct UIBackgroundTaskIdentifier: Hashable, Sendable {
  public static let invalid = UIBackgroundTaskIdentifier()
}

@MainActor
open class UIApplication {
  public class var shared: UIApplication { UIApplication() }

  open func beginBackgroundTask(
    withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
  ) -> UIBackgroundTaskIdentifier { .invalid }

  open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}

extension ProcessInfo {
  public func performExpiringActivity(
    withReason reason: String, using block: @escaping @Sendable (Bool) -> Void
  ) {}
}
