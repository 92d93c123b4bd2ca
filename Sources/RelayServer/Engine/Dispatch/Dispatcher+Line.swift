import EventLoop
import RelayCore
import Synchronization

/// A stretch of the line that the scheduler wants to see.
enum LineQuestion: Sendable {
  case after(Serial)
  case before(Serial)
}

// How the line gets into the scheduler's windows.
extension Dispatcher {
  /// The most entries of the line that are read at a time.
  static let linePageCountMax = 4096

  /// Reads a stretch of the line and hands it over; later, if it cannot be read now.
  func readLine(_ question: LineQuestion) {
    Task(executorPreference: loop) { [self] in
      do throws(StoreError) {
        let page = try await page(question)
        apply { state, now in state.scheduler.refill(page, now: now) }
      } catch {
        log.repeating(
          .error, "the line could not be read", about: "\(error.kind)", .usual,
          ("error", .text(error.description)))
        apply { state, _ in state.scheduler.refillFailed() }
        loop.schedule(afterMs: Self.readRetryDelayMs) {
          self.apply { state, _ in state.scheduler.retrySweep() }
        }
      }
    }
  }

  private func page(_ question: LineQuestion) async throws(StoreError) -> LinePage {
    switch question {
    case .after(let serial): try await store.line(after: serial, countMax: Self.linePageCountMax)
    case .before(let serial): try await store.line(before: serial, countMax: Self.linePageCountMax)
    }
  }

  /// Takes up the line as it stood when the relay stopped: it is read until the scheduler's windows
  /// are full, and what stands behind that is counted.
  ///
  /// - Returns: How many envelopes wait.
  func restoreLine() async throws(StoreError) -> Int {
    var orders = LaneOrders(rules: lanes)
    var count = 0
    var after: Serial = 0
    var parked: [LaneNumber: WallTime] = [:]
    while true {
      let page = try await store.line(after: after, countMax: Self.linePageCountMax)
      let unknown = orders.unknown(among: page.entries.lazy.map(\.lane))
      if !unknown.isEmpty { orders.note(try await store.laneNames(unknown)) }
      let isFull = state.withLock { state in
        state.scheduler.restore(page, latest: orders.latest)
        return state.scheduler.areWindowsFull
      }
      quotas.change(page.use)
      count += page.entries.count
      for entry in page.entries where entry.standing == .parked {
        parked[entry.lane] = min(parked[entry.lane] ?? entry.acceptedAt, entry.acceptedAt)
      }
      after = page.scannedThrough
      if let deadline = page.entries.lazy.map(\.expiresAt).min() { deadlines.note(deadline) }
      if !page.hasMore { break }
      if isFull {
        count += try await restoreRest(after: after, &orders, &parked)
        break
      }
    }
    try await gaps.takeUp(parked)
    return count
  }

  private func restoreRest(
    after serial: Serial, _ orders: inout LaneOrders, _ parked: inout [LaneNumber: WallTime]
  ) async throws(StoreError) -> Int {
    let rest = try await store.lineSummary(after: serial)
    let unknown = orders.unknown(among: rest.shares.lazy.map(\.lane))
    if !unknown.isEmpty { orders.note(try await store.laneNames(unknown)) }
    let latest = orders.latest
    var wanted = state.withLock { $0.scheduler.headsWanted(of: rest, latest: latest) }[...]
    var heads: [LineEntry] = []
    while !wanted.isEmpty {
      heads += try await store.line(at: Array(wanted.prefix(Self.linePageCountMax)))
      wanted = wanted.dropFirst(Self.linePageCountMax)
    }
    let found = heads
    state.withLock { $0.scheduler.restore(rest, heads: found, latest: latest) }
    quotas.change(rest.use)
    for share in rest.shares {
      guard let since = share.parkedSince else { continue }
      parked[share.lane] = min(parked[share.lane] ?? since, since)
    }
    if let deadline = rest.earliestDeadline { deadlines.note(deadline) }
    return rest.waitingCount
  }
}

/// Which lanes of a line that is being taken up have the order `latest`.
///
/// The line knows lanes by their numbers, and rules are by names; so each name is looked up once,
/// if there are such rules at all.
struct LaneOrders {
  private let rules: LaneRulesTable
  private let isAnyLatest: Bool
  private var known: Set<LaneNumber> = []
  /// Those that are known to have it.
  private(set) var latest: Set<LaneNumber> = []

  init(rules: LaneRulesTable) {
    self.rules = rules
    isAnyLatest = rules.entries.contains { $0.value.order == .latest }
  }

  /// Lanes whose names are needed.
  mutating func unknown(among lanes: some Sequence<LaneNumber>) -> [LaneNumber] {
    guard isAnyLatest else { return [] }
    return lanes.filter { known.insert($0).inserted }
  }

  mutating func note(_ names: [LaneNumber: LaneName]) {
    for (number, name) in names where rules.rules(ofLane: name.lane).order == .latest {
      latest.insert(number)
    }
  }
}
