import RelayCore

extension Outbox {
  /// The item of this number, over or not; nil if it is not known, or not any more.
  public func item(_ id: Item.ID) async -> Item? {
    let item = try? await store.run(changes: false) { core, _ throws(StoreError) in
      try core.item(id)
    }
    return item ?? nil
  }

  /// Items that are not over, in the order in which they were enqueued; none if the outbox is
  /// closed or the disk does not say: ``status()`` is nil then.
  ///
  /// - Parameters:
  ///   - after: The last item of the page before; nil for the first page.
  ///   - limit: The most items.
  public func items(
    _ filter: Filter = .all, after: Item.ID? = nil, limit: Int = 100
  ) async -> [Item] {
    let items = try? await store.run(changes: false) { core, _ throws(StoreError) in
      try core.items(filter, after: after, countMax: limit)
    }
    return items ?? []
  }

  /// The outbox at a glance; nil once it is closed, or if the disk does not say.
  public func status() async -> Status? {
    try? await store.run(changes: false) { core, now throws(StoreError) in
      try core.status(at: now)
    }
  }

  /// The latest receipt of a lane, and before that those of the relay's earlier chains, the latest
  /// ones first; none if there is none, or the outbox is closed.
  ///
  /// The first one speaks for all that the lane's chain has.
  public func receipts(_ lane: Lane) async -> [Receipt] {
    let receipts = try? await store.run(changes: false) { core, _ throws(StoreError) in
      try core.receipts(of: lane.name)
    }
    return receipts ?? []
  }

  /// What shows to others what has become of an item of an evidence lane; nil if the item has no
  /// number, or is not known, or not any more.
  ///
  /// It is kept as long as the item's ending: ``Limits/endings``.
  public func evidence(_ id: Item.ID) async -> Evidence? {
    let evidence = try? await store.run(changes: false) { core, _ throws(StoreError) in
      try core.evidence(id)
    }
    return evidence ?? nil
  }

  /// The pages of an evidence lane's ledger that were fetched and verified, in the order of their
  /// numbers: what `waystation audit-lane --ledger` takes, one behind the other.
  public func ledger(_ lane: Lane) async -> [String] {
    let pages = try? await store.run(changes: false) { core, _ throws(StoreError) in
      try core.ledger(of: lane.name)
    }
    return pages ?? []
  }

  /// What happens from now on, to the items of ``Filter/ids(_:)``, and beside that what is about no
  /// item; to all with any other filter.
  ///
  /// A reader that is more than 1000 events behind loses the oldest; ``Event/missed(_:)`` says how
  /// many.
  public nonisolated func events(_ filter: Filter = .all) -> Events {
    guard case .ids(let ids) = filter else { return hub.events { _ in true } }
    return hub.events { event in event.item.map { ids.contains($0) } ?? true }
  }

  /// What becomes of an item: returns once it is over or refused.
  ///
  /// - Returns: nil if the item is not known, or the outbox was closed.
  public func outcome(of id: Item.ID) async -> Outcome? {
    await outcome(of: id, within: nil, untilUnreachable: false)
  }

  /// What becomes of an item, as far as it is known in time.
  func outcome(
    of id: Item.ID, within limit: Duration?, untilUnreachable: Bool
  ) async -> Outcome? {
    let (outcomes, number) = driver.outcomes(of: id)
    defer { driver.endOutcomes(of: id, number) }
    // From now on, so that nothing is missed that happens while the state is read.
    let limited = untilUnreachable ? hub.events { $0.tellsOfFailure } : nil
    let standing = try? await store.run { core, now throws(StoreError) in
      core.watch(id)
      return try core.standing(of: id, at: now)
    }
    defer {
      Task { [store] in try? await store.run(changes: false) { core, _ in core.unwatch(id) } }
    }
    guard let standing = standing ?? nil else { return nil }
    switch standing {
    case .stillWaiting: break
    case .connection where !untilUnreachable: break
    default: return standing
    }
    return await withTaskGroup(of: Outcome?.self) { group in
      group.addTask { await outcomes.first { _ in true } }
      if let limited {
        group.addTask { [store] in
          for await _ in limited {
            let standing = try? await store.run(changes: false) { core, now throws(StoreError) in
              try core.standing(of: id, at: now)
            }
            if case .connection(let failure)? = standing ?? nil { return .connection(failure) }
          }
          return nil
        }
      }
      if let limit {
        group.addTask { [clock = settings.clock] in
          try? await clock.sleep(limit)
          return .stillWaiting(id)
        }
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
  }
}

extension Event {
  /// The item that it is about; nil if there is no single one.
  var item: Item.ID? {
    switch self {
    case .enqueued(let item): item.id
    case .sending(let id, _), .accepted(let id, _), .skipped(let id, _), .ended(let id, _),
      .errorRecorded(let id, _), .errorResolved(let id), .coalesced(let id, _):
      id
    default: nil
    }
  }

  /// Whether it may tell that nobody can be reached.
  var tellsOfFailure: Bool {
    switch self {
    case .unreachable, .limited, .reachability: true
    default: false
    }
  }
}
