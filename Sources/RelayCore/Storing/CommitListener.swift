/// Hears of each commit, on the store's thread and in the order of the commits.
///
/// A listener goes through ``Commit/changes`` with a `switch` over all kinds, so that a new kind is
/// asked of each.
package protocol CommitListener: AnyObject, Sendable {
  /// A transaction is on disk.
  ///
  /// - Parameter now: The same for all listeners.
  func committed(_ commit: Commit, at now: Now)
}
