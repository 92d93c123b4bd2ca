/// Time that the system gives for work in the background.
public protocol Budget: Sendable {
  /// Asks for time, before the work begins.
  ///
  /// - Parameter expired: Called if the time is over before ``BudgetToken/end()``.
  func begin(
    _ reason: String, expired: @escaping @Sendable () -> Void
  ) async -> any BudgetToken
}

/// Time that was given.
public protocol BudgetToken: Sendable {
  /// Gives it back; called once, whichever way the work ends.
  func end()
}
