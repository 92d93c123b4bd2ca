import RelayCore

extension Outbox {
  /// Tries the items of a filter now, and reports once each is decided.
  ///
  /// Waits after a failure are cut short, and what is being collected goes at once. The order
  /// within a lane stays. An item is decided when it is delivered, refused or expired, or does not
  /// go: then the report says why.
  ///
  /// - Parameter limit: How long to wait at the longest; what is not decided by then is pending,
  ///   and goes on by itself.
  public func run(_ filter: Filter = .all, within limit: Duration? = nil) async -> RunReport {
    let begun = try? await store.run { core, now throws(StoreError) in
      try core.beginRun(filter, at: now)
    }
    guard let run = begun else { return .nothing }
    let clock = settings.clock
    let timer = Task { [store, driver] in
      guard let limit else { return }
      try await clock.sleep(limit)
      let report = try? await store.run { core, _ in core.endRun(run) }
      if let report = report ?? nil { driver.finish(run, report) }
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await driver.report(of: run)
    } onCancel: { [store, driver] in
      Task {
        let report = try? await store.run { core, _ in core.endRun(run) }
        if let report = report ?? nil { driver.finish(run, report) }
      }
    }
  }

  /// Runs everything in time that the system gives, and gives it back on every path.
  ///
  /// When the time is over, the report says what is pending. What was under way is cut, and goes
  /// again: its key and its number make the repeat harmless.
  public func runInBackground(_ budget: some Budget) async -> RunReport {
    let (expired, expire) = AsyncStream.makeStream(of: Void.self)
    let token = await budget.begin("Sending what waits") { expire.finish() }
    defer { token.end() }
    return await withTaskGroup(of: RunReport?.self) { group in
      group.addTask { await self.run() }
      group.addTask {
        for await _ in expired {}
        return nil
      }
      var report = await group.next() ?? nil
      group.cancelAll()
      // The run that is cut short still has its report.
      while report == nil, let next = await group.next() { report = next }
      return report ?? .nothing
    }
  }

  /// Tries everything now: waits after a failure are cut short, refused credentials are asked for
  /// again, and so are the app's readiness and the relay, about what has ended.
  public func wake() async {
    driver.forgetCredential()
    await takeMailbox()
    _ = try? await store.run { core, _ in core.wake() }
  }
}
