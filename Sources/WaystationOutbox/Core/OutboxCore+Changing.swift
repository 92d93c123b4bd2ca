import RelayCore

/// What a change of an item needs: nothing more, or the relay's consent.
enum Changing: Sendable {
  /// It is done.
  case done
  /// It cannot be done.
  case failed(ChangeError)
  /// The relay has the item: it has to do this first, and then ``OutboxCore/changedAtRelay(_:_:)``.
  case relay(key: String, RelayChange)
}

/// A change that the relay makes.
enum RelayChange: Sendable {
  case cancel
  case patch(RequestEdit)
  case retry(RequestEdit?)
  case discard
}

extension OutboxCore {
  /// Changes an item.
  func edit(
    _ id: Item.ID, _ edit: RequestEdit, at now: Moment
  ) throws(StoreError) -> Changing {
    try takeAheadApart(for: id.raw)
    guard let item = try file.item(id.raw) else { return try missing(id) }
    switch item.state {
    case .atRelay: return try patch(item, edit)
    case .sealed: return .failed(.sealed(view(of: item).state))
    case .waiting where mayBeAtRelay(item): return .failed(.sealed(view(of: item).state))
    case .blocked where item.refuser == .upstreamAtRelay: return try patch(item, edit)
    case .held, .waiting, .blocked, .quarantined:
      guard let free = edit.request == nil ? item : try freed(item) else {
        return .failed(.signed(item.sequence ?? 0))
      }
      var changed = try replaced(free, edit, at: now)
      if let hold = edit.hold, !item.state.needsAttention {
        changed.state = hold ? .held : .waiting
      }
      try file.update(changed)
      return .done
    }
  }

  /// Has the relay change an item, unless it was signed.
  private func patch(_ item: KeptItem, _ edit: RequestEdit) throws(StoreError) -> Changing {
    mayChangeAtRelay(item, edit)
      ? .relay(key: item.key, .patch(try overFormer(item, edit)))
      : .failed(.signed(item.sequence ?? 0))
  }

  /// An edit that says what it takes the place of, as far as that is still here.
  private func overFormer(
    _ item: KeptItem, _ edit: RequestEdit
  ) throws(StoreError) -> RequestEdit {
    var edit = edit
    if edit.request != nil { edit.former = try file.content(of: item.id)?.request }
    return edit
  }

  /// An item with the request of an edit.
  private func replaced(
    _ item: KeptItem, _ edit: RequestEdit, at now: Moment
  ) throws(StoreError) -> KeptItem {
    var changed = item
    if let expires = edit.expiresMs {
      let passed = now.milliseconds(since: item.enqueuedAt) ?? 0
      changed.expiresMs = passed + expires
    }
    guard let request = edit.request else { return changed }
    try removeFile(of: item)
    changed.bodyKind = edit.body.kind
    changed.bodyBytes = edit.body.byteCount
    changed.bytes = max(0, item.bytes - item.bodyBytes) + edit.body.byteCount
    changed.commandVersion = nil
    changed.upload = Self.asFormer(item.upload)
    // What the relay has taken stays what it will sign for.
    if let sequence = item.sequence, !item.isHanded { try file.deleteDigest(item.lane, sequence) }
    try file.replace(item.id, request, edit.body)
    try file.setLatest(Fingerprint(request, edit.body), of: item.id)
    if item.commandVersion != nil { try file.made(changed) }
    change(item.lane) { $0.bytes += changed.bytes - item.bytes }
    state.preparations[item.id] = nil
    if state.preparing == item.id { state.asksAgain = true }
    return changed
  }

  /// Takes an item back.
  func cancel(_ id: Item.ID) throws(StoreError) -> Changing {
    try takeAheadApart(for: id.raw)
    guard let item = try file.item(id.raw) else { return try missing(id) }
    switch item.state {
    case .atRelay where try isUnproven(item):
      // It has ended there. Where the signature does not come, it can be waited for no more.
      guard state.custody.proofs[item.lane]?.fault != nil else {
        return .failed(.sealed(view(of: item).state))
      }
      try endAsTold(item)
      return .done
    case .atRelay: return .relay(key: item.key, .cancel)
    case .blocked where item.refuser == .upstreamAtRelay: return .relay(key: item.key, .cancel)
    case .sealed where settings.isRelay || state.underwayItems.contains(item.id):
      // Nobody knows yet whether the relay has it.
      return .failed(.sealed(view(of: item).state))
    case .waiting where mayBeAtRelay(item): return .failed(.sealed(view(of: item).state))
    case .held, .waiting, .sealed, .blocked, .quarantined:
      try declareVoid(item)
      try end(item, .cancelled)
      return .done
    }
  }

  /// Lets an item go that is held.
  func release(_ id: Item.ID) throws(StoreError) -> Changing {
    guard var item = try file.item(id.raw) else { return try missing(id) }
    guard item.state == .held else {
      return item.state == .waiting ? .done : .failed(.sealed(view(of: item).state))
    }
    item.state = .waiting
    try file.update(item)
    return .done
  }

  /// Has an item wait for somebody.
  func recordError(_ id: Item.ID, _ error: RecordedError) throws(StoreError) -> Changing {
    try takeAheadApart(for: id.raw)
    guard let item = try file.item(id.raw) else { return try missing(id) }
    switch item.state {
    case .sealed, .atRelay: return .failed(.sealed(view(of: item).state))
    case .waiting where mayBeAtRelay(item): return .failed(.sealed(view(of: item).state))
    case .held, .waiting: try block(item, by: .app, error)
    case .blocked, .quarantined:
      var changed = item
      changed.error = error
      try file.update(changed)
      tell(.errorRecorded(id, error))
    }
    return .done
  }

  /// Ends the wait of an item that needs somebody.
  func resolve(
    _ id: Item.ID, retry edit: RequestEdit?, discard reason: String?, at now: Moment
  ) throws(StoreError) -> Changing {
    guard let item = try file.item(id.raw) else { return try missing(id) }
    guard item.state.needsAttention else { return .failed(.sealed(view(of: item).state)) }
    if item.refuser == .upstreamAtRelay {
      guard reason != nil || mayChangeAtRelay(item, edit) else {
        return .failed(.signed(item.sequence ?? 0))
      }
      guard reason == nil else { return .relay(key: item.key, .discard) }
      return .relay(
        key: item.key, .retry(try edit.map { e throws(StoreError) in try overFormer(item, e) }))
    }
    if let reason {
      try declareVoid(item)
      try end(item, .cancelled, error: RecordedError(id: "discarded", message: reason))
      return .done
    }
    guard let free = edit?.request == nil ? item : try freed(item) else {
      return .failed(.signed(item.sequence ?? 0))
    }
    var changed =
      try edit.map { edit throws(StoreError) in
        try replaced(free, edit, at: now)
      } ?? free
    // A number that was given stays: the relay waits for it, and does not know the item.
    changed.state = changed.sequence == nil ? .waiting : .sealed
    changed.error = nil
    changed.refuser = nil
    state.attention -= 1
    try file.update(changed)
    tell(.errorResolved(id))
    return .done
  }

  /// The relay has made a change.
  ///
  /// What the device still has of the item is changed as well: it may have to go again.
  ///
  /// - Returns: Whether the body of an edit is the item's own by now.
  @discardableResult
  func changedAtRelay(
    _ key: String, _ change: RelayChange, at now: Moment
  ) throws(StoreError) -> Bool {
    guard var item = try file.item(key: key) else { return false }
    var isTaken = false
    switch change {
    case .patch(let edit), .retry(let edit?):
      if let request = edit.request {
        try file.setLatest(Fingerprint(request, edit.body), of: item.id)
      }
      isTaken = try file.content(of: item.id) != nil && edit.request != nil
      if isTaken {
        item = try replaced(item, edit, at: now)
        try file.update(item)
      }
    case .cancel, .discard, .retry(nil): break
    }
    switch change {
    case .cancel:
      try giveUpStatement(of: item)
      try endTold(item, .cancelled)
    case .discard: try endTold(item, .refused)
    case .retry:
      guard item.state.needsAttention else { return isTaken }
      item.state = .atRelay
      item.error = nil
      item.refuser = nil
      state.attention -= 1
      try file.update(item)
      tell(.errorResolved(Item.ID(raw: item.id)))
    case .patch: break
    }
    return isTaken
  }

  /// Ends all items of a filter that can still be ended here.
  ///
  /// - Returns: How many.
  func clear(_ filter: Filter) throws(StoreError) -> Int {
    var count = 0
    var after: Int64 = 0
    while true {
      let items = try kept(filter, after: after, countMax: CoreLimits.expiredPerStep)
      guard let last = items.last else { return count }
      after = last.id
      for item in items where try !isUnproven(item) {
        if case .done = try cancel(Item.ID(raw: item.id)) { count += 1 }
      }
    }
  }

  private func missing(_ id: Item.ID) throws(StoreError) -> Changing {
    guard let ending = try file.ending(id.raw) else { return .failed(.unknown) }
    return .failed(.sealed(.ended(ending.outcome)))
  }

  // MARK: - Pauses

  /// Sends nothing of a lane, or nothing at all, until it is resumed.
  func pause(_ lane: Lane?, _ isPaused: Bool) throws(StoreError) {
    try takeAheadApart()
    guard let lane else {
      state.isPaused = isPaused
      return try file.set(.isPaused, isPaused ? 1 : 0)
    }
    let number = self.lane(named: lane.name).number
    change(number) { $0.isPaused = isPaused }
  }
}
