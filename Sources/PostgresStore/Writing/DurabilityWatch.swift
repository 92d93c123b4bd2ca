#if PostgreSQL
import EventLoop
import Postgres
import RelayCore
import Synchronization

/// Looks again and again at how safe the database's commits are, by a connection that reads.
///
/// It is not asked with a beat, whose failure would cost the lease, nor by the writer, for which
/// posts wait.
final class DurabilityWatch: Sendable {
  private let wanted: StoreDurability
  private let shared: DatabaseShared
  private let reads: WorkQueue<DatabaseReader.Job>

  private struct State {
    var dueAt: MonotonicTime
    var isUnderWay = false
  }

  private let state: Mutex<State>

  /// - Precondition: A first look was taken at the start.
  init(
    _ wanted: StoreDurability, _ shared: DatabaseShared, _ reads: WorkQueue<DatabaseReader.Job>
  ) {
    self.wanted = wanted
    self.shared = shared
    self.reads = reads
    state = Mutex(State(dueAt: Lease.now().adding(milliseconds: shared.limits.durabilityMs)))
  }

  /// Has it looked at if it is time, or if the database may be another server since the last look.
  func lookIfDue(isAnew: Bool) {
    guard wanted.isLookedAt else { return }
    let now = Lease.now()
    let isDue = state.withLock { state in
      if isAnew { state.dueAt = now }
      guard !state.isUnderWay, now >= state.dueAt else { return false }
      state = State(
        dueAt: now.adding(milliseconds: shared.limits.durabilityMs), isUnderWay: true)
      return true
    }
    guard isDue else { return }
    _ = reads.push { [self] reader in
      look(by: reader)
      state.withLock { $0.isUnderWay = false }
    }
  }

  /// What cannot be read leaves what was known: of a database that is away, others tell.
  private func look(by reader: DatabaseReader) {
    guard
      let reading = try? DurabilityReading(reader, asksForStandbys: wanted.needsStandbys)
    else { return }
    let isSettingKnown = shared.figures.withLock { figures in
      figures.durability = reading
      defer { figures.isWritersSettingNew = false }
      // Another value than here may be one that was mended since its last transaction.
      return figures.isWritersSettingNew && figures.writersSetting == reading.setting
    }
    if !isSettingKnown { askWriter() }
  }

  /// Has the writer look at its own session, of which no transaction has told what is to be known.
  private func askWriter() {
    shared.inbox.update { inbox in
      guard !inbox.isClosing else { return }
      inbox.requests.append(.task(DatabaseTask(run: { $0.noteSetting() }, fail: { _ in })))
    }
  }
}

extension DatabaseWriter {
  fileprivate func noteSetting() {
    let asking = PostgresCommand("SELECT current_setting('synchronous_commit')")
    guard let rows = try? read([asking]) else { return }
    shared.figures.withLock { $0.writersSetting = rows[0].text(0, 0) }
  }
}

extension StoreFigures {
  /// Why commits may be less safe than is wanted, as far as was seen.
  func doubt(wanting wanted: StoreDurability) -> DurabilityDoubt? {
    guard wanted.isLookedAt, var reading = durability else { return nil }
    if let writersSetting { reading.setting = writersSetting }
    return reading.doubt(wanting: wanted)
  }
}
#endif
