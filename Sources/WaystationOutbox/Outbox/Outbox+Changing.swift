import RelayCore

extension Outbox {
  /// Changes an item that waits.
  ///
  /// Until it is first put into a post this is done on the device; later the relay has to agree.
  public func edit(_ id: Item.ID, _ change: Change) async throws(ChangeError) {
    let edit = try self.edit(change)
    try await changing(edit) { core, now throws(StoreError) in
      try core.edit(id, edit, at: now)
    }
    change.request?.body.endMove()
  }

  /// Takes an item back.
  ///
  /// It ends as ``Outcome/cancelled``. One of an evidence lane that has ended at the relay ends as
  /// the relay has told it, where the signature does not come: ``LaneStatus/custodyFault``.
  public func cancel(_ id: Item.ID) async throws(ChangeError) {
    try await changing { core, _ throws(StoreError) in try core.cancel(id) }
  }

  /// Lets an item go that was held.
  public func release(_ id: Item.ID) async throws(ChangeError) {
    try await changing { core, _ throws(StoreError) in try core.release(id) }
  }

  /// Records an error with an item: it waits for ``resolve(_:_:)``, and so does its lane.
  public func recordError(_ id: Item.ID, _ error: RecordedError) async throws(ChangeError) {
    try await changing { core, _ throws(StoreError) in try core.recordError(id, error) }
  }

  /// Ends the wait of an item that was refused, quarantined, or has a recorded error.
  public func resolve(_ id: Item.ID, _ how: Resolution) async throws(ChangeError) {
    switch how {
    case .discard(let reason):
      try await changing { core, now throws(StoreError) in
        try core.resolve(id, retry: nil, discard: reason, at: now)
      }
    case .retry(let change):
      var edit: RequestEdit?
      if let change { edit = try self.edit(change) }
      try await changing(edit) { [edit] core, now throws(StoreError) in
        try core.resolve(id, retry: edit, discard: nil, at: now)
      }
      change?.request?.body.endMove()
    }
  }

  /// Takes back all items of a filter that can still be taken back on the device.
  ///
  /// What is being sent, or is at the relay, goes on.
  ///
  /// - Returns: How many were taken back.
  public func clear(_ filter: Filter = .all) async throws(ChangeError) -> Int {
    do throws(StoreError) {
      return try await store.run { core, _ throws(StoreError) in try core.clear(filter) }
    } catch {
      throw ChangeError(error)
    }
  }

  /// Sends nothing of a lane, or nothing at all, until it is resumed.
  ///
  /// That outlasts the process.
  public func pause(_ lane: Lane? = nil) async throws(ChangeError) {
    try await pause(lane, true)
  }

  /// Ends a pause.
  public func resume(_ lane: Lane? = nil) async throws(ChangeError) {
    try await pause(lane, false)
  }

  private func pause(_ lane: Lane?, _ isPaused: Bool) async throws(ChangeError) {
    do throws(StoreError) {
      try await store.run { core, _ throws(StoreError) in try core.pause(lane, isPaused) }
    } catch {
      throw ChangeError(error)
    }
  }

  // MARK: - Here, or at the relay

  private func edit(_ change: Change) throws(ChangeError) -> RequestEdit {
    var edit = RequestEdit(
      hold: change.hold, expiresMs: change.expires.map { max(0, $0.milliseconds) })
    guard let request = change.request else { return edit }
    do {
      let (kept, body) = try ItemRules.checked(request, settings, bodies: bodies)
      edit.request = kept
      edit.body = body
      return edit
    } catch let error as StoreError {
      throw ChangeError(error)
    } catch {
      throw .invalid("\(error)")
    }
  }

  private func changing(
    _ edit: RequestEdit? = nil,
    _ work: @escaping @Sendable (OutboxCore, Moment) throws(StoreError) -> Changing
  ) async throws(ChangeError) {
    let changing: Changing
    do throws(StoreError) { changing = try await store.run(work) } catch {
      throw ChangeError(error)
    }
    switch changing {
    case .done: return
    case .failed(let error):
      removeBody(of: edit)
      throw error
    case .relay(let key, let change):
      var isTaken = false
      defer { if !isTaken { removeBody(of: edit) } }
      isTaken = try await driver.ask(key, change)
    }
  }

  private func removeBody(of edit: RequestEdit?) {
    if let name = edit?.body.fileName { Platform.remove("\(bodies)/\(name)") }
  }
}
