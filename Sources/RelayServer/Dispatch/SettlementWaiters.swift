import EventLoop
import RelayCore
import Synchronization

/// Those who wait for an envelope to end or to block its lane.
final class SettlementWaiters: Sendable {
  private struct Table {
    var waiters: [Serial: [UInt64: Waiter]] = [:]
    var lastTicket: UInt64 = 0
    var isClosed = false
  }

  private let table = Mutex(Table())

  /// Registers for news of an envelope; nil once closed.
  ///
  /// What happens from now on is not missed, even if ``Waiter/wait(on:forMs:)`` is called later.
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
      table.waiters[waiter.serial]?[waiter.ticket] = nil
      if table.waiters[waiter.serial]?.isEmpty == true { table.waiters[waiter.serial] = nil }
    }
  }

  /// Tells those who wait for these envelopes.
  func settle(_ serials: some Sequence<Serial>) {
    let told = table.withLock { table -> [Waiter] in
      guard !table.waiters.isEmpty else { return [] }
      return serials.flatMap { serial in
        table.waiters.removeValue(forKey: serial).map { Array($0.values) } ?? []
      }
    }
    for waiter in told { waiter.finish(isSettled: true) }
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

    func finish(isSettled: Bool) {
      let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
        guard state.isSettled == nil else { return nil }
        state.isSettled = isSettled
        defer { state.continuation = nil }
        return state.continuation
      }
      continuation?.resume(returning: isSettled)
    }
  }
}
