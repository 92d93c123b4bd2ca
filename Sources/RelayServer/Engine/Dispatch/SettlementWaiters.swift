import EventLoop
import RelayCore
import Synchronization

/// Those who wait for an envelope to end or to block its lane.
final class SettlementWaiters: Sendable {
  /// The result of a wait.
  enum News: Sendable {
    /// It came to be.
    case made
    /// It came to nothing: the envelope had moved, or ended, before.
    case moot
    /// It could not be written, since the store is damaged there.
    case unwritten
  }

  private struct Table {
    var waiters: [Serial: [UInt64: Waiter]] = [:]
    /// Those whose envelope has moved: the number under which they stand in ``waiters``.
    var moved: [UInt64: Serial] = [:]
    var lastTicket: UInt64 = 0
    var isClosed = false
  }

  private let table = Mutex(Table())

  /// Registers for news of an envelope; nil once closed.
  ///
  /// Changes from now on are not missed, even if ``Waiter/wait(on:forMs:)`` is called later.
  func register(_ serial: Serial) -> Waiter? {
    table.withLock { table in
      guard !table.isClosed else { return nil }
      table.lastTicket += 1
      let waiter = Waiter(serial: serial, ticket: table.lastTicket)
      table.waiters[serial, default: [:]][waiter.ticket] = waiter
      return waiter
    }
  }

  func remove(_ waiter: Waiter) {
    table.withLock { table in
      let serial = table.moved.removeValue(forKey: waiter.ticket) ?? waiter.serial
      table.waiters[serial]?[waiter.ticket] = nil
      if table.waiters[serial]?.isEmpty == true { table.waiters[serial] = nil }
    }
  }

  /// An envelope has another number from now on: those who wait for it go on waiting.
  func move(_ old: Serial, to new: Serial) {
    table.withLock { table in
      guard let waiters = table.waiters.removeValue(forKey: old) else { return }
      table.waiters[new, default: [:]].merge(waiters) { _, moved in moved }
      for ticket in waiters.keys { table.moved[ticket] = new }
    }
  }

  /// Tells those who wait for these envelopes.
  ///
  /// - Parameter news: What came of what they wait for.
  func settle(_ serials: some Sequence<Serial>, as news: News = .made) {
    let told = table.withLock { table -> [Waiter] in
      guard !table.waiters.isEmpty else { return [] }
      return serials.flatMap { serial in
        table.waiters.removeValue(forKey: serial).map { Array($0.values) } ?? []
      }
    }
    for waiter in told { waiter.finish(isSettled: true, news) }
  }

  /// Sends everybody away who still waits, and whoever comes later.
  func close() {
    let left = table.withLock { table -> [Waiter] in
      table.isClosed = true
      defer { table.waiters = [:] }
      return table.waiters.values.flatMap(\.values)
    }
    for waiter in left { waiter.finish(isSettled: false) }
  }

  /// One who waits.
  final class Waiter: Sendable {
    private struct State {
      var isSettled: Bool?
      var news = News.made
      var continuation: CheckedContinuation<Bool, Never>?
    }

    let serial: Serial
    let ticket: UInt64
    private let state = Mutex(State())

    init(serial: Serial, ticket: UInt64) {
      self.serial = serial
      self.ticket = ticket
    }

    /// Waits for the news, at most so long.
    ///
    /// - Returns: Whether it came.
    func wait(on loop: EventLoop, forMs milliseconds: Int64) async -> Bool {
      let timer = loop.schedule(afterMs: milliseconds) { self.finish(isSettled: false) }
      defer { _ = timer.cancel() }
      return await withCheckedContinuation { continuation in
        let known = state.withLock { state -> Bool? in
          if state.isSettled == nil { state.continuation = continuation }
          return state.isSettled
        }
        if let known { continuation.resume(returning: known) }
      }
    }

    /// Waits for the news, at most so long, and no longer than somebody wants it: a cancelled task
    /// goes on at once.
    ///
    /// - Returns: Whether it came.
    func waitWhileWanted(on loop: EventLoop, forMs milliseconds: Int64) async -> Bool {
      await withTaskCancellationHandler {
        await wait(on: loop, forMs: milliseconds)
      } onCancel: {
        finish(isSettled: false)
      }
    }

    /// The result, once it came.
    var news: News { state.withLock { $0.news } }

    func finish(isSettled: Bool, _ news: News = .made) {
      let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
        guard state.isSettled == nil else { return nil }
        state.isSettled = isSettled
        state.news = news
        defer { state.continuation = nil }
        return state.continuation
      }
      continuation?.resume(returning: isSettled)
    }
  }
}

extension SettlementWaiters: CommitListener {
  /// Follows envelopes to their new numbers, and tells those who wait for what ended or blocks its
  /// lane.
  func committed(_ commit: Commit, at now: Now) {
    for change in commit.changes {
      switch change {
      case .changed(let transitions):
        settle(transitions.lazy.filter { !$0.isMoot && $0.change.settles }.map(\.serial))
      case .accepted(let envelopes):
        for envelope in envelopes {
          if let old = envelope.movedFrom { move(old, to: envelope.entry.serial) }
        }
      case .cleared(let backlog): settle(backlog.items.lazy.map(\.serial))
      case .coalesced, .unwritten, .endsChanged: break
      }
    }
  }
}

extension Transition.Change {
  /// Whether those who wait for the envelope have something to see.
  var settles: Bool {
    switch self {
    case .end, .block: true
    case .begin, .retry, .release, .edit, .requeue: false
    }
  }
}
