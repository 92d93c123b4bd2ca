/// Commits on their way to the disk, oldest first, and those who wait until they have been told of.
///
/// A commit stands in SQLite's log before it is on the disk. So the next one can be made while the
/// last one is synced; nobody is told of either before its sync. A value: ``LogSync`` carries it
/// out.
struct SyncQueue<Item: Sendable>: Sendable {
  /// Called once all commits that a reader may have seen have been told of.
  typealias Waiter = @Sendable () -> Void

  /// Commits that were handed over and not yet taken.
  private var items: [Item] = []
  /// The number of commits that somebody syncs and tells of right now.
  private var takenCount = 0
  /// The number of commits begun so far.
  private var begun: Int64 = 0
  /// The number of commits told of so far.
  private var told: Int64 = 0
  private var waiters: [(through: Int64, resume: Waiter)] = []
  /// How long a sync takes, as the last ones did, in microseconds.
  private var syncMicroseconds: Int64 = 0
  /// Whether no more commits will come.
  var isClosing = false

  /// Makes an empty queue.
  init() {}

  /// The number of commits that readers may have seen and nobody has been told of.
  var openCount: Int { Int(begun - told) }

  /// Whether nothing is handed over or taken.
  var isIdle: Bool { items.isEmpty && takenCount == 0 }

  /// Announces that a commit is about to be made: from now on readers may see it.
  mutating func begin() { begun += 1 }

  /// Takes back the latest ``begin()``, since nothing was committed.
  ///
  /// - Returns: The waiters to resume.
  mutating func withdraw() -> [Waiter] {
    begun -= 1
    for index in waiters.indices where waiters[index].through > begun {
      waiters[index].through = begun
    }
    return takeReadyWaiters()
  }

  /// Hands the latest commit over.
  ///
  /// - Parameters:
  ///   - changeCount: The number of changes in it.
  ///   - hasMoreToDo: Whether its writer has something else to do meanwhile.
  /// - Returns: Whether the writer shall sync and tell of it by itself, since another thread would
  ///   only have to be woken for it; ``finish(after:)`` follows. If not, it is in the queue.
  mutating func handOver(_ item: Item, changeCount: Int, hasMoreToDo: Bool) -> Bool {
    if isIdle, !hasMoreToDo || !isWorthwhile(changeCount) {
      takenCount = 1
      return true
    }
    items.append(item)
    return false
  }

  /// Whether the next commit is to be made during the sync of this one.
  ///
  /// Commits are smaller then, and so there are more of them. That costs more than it saves if they
  /// are small anyway and the disk is quick.
  private func isWorthwhile(_ changeCount: Int) -> Bool {
    changeCount >= StoreTuning.overlappedChangesMin
      || syncMicroseconds >= StoreTuning.overlappedSyncMicrosecondsMin
  }

  /// All that was handed over, to be synced at once and told of in this order.
  ///
  /// Nil if there is nothing. ``finish(after:)`` follows.
  mutating func take() -> [Item]? {
    guard !items.isEmpty, takenCount == 0 else { return nil }
    takenCount = items.count
    defer { items = [] }
    return items
  }

  /// What was taken has been told of.
  ///
  /// - Parameter syncMicroseconds: How long its sync took.
  /// - Returns: The waiters to resume.
  mutating func finish(after syncMicroseconds: Int64) -> [Waiter] {
    // A moving average, in which the last eight or so count.
    self.syncMicroseconds += (syncMicroseconds - self.syncMicroseconds) / 8
    told += Int64(takenCount)
    takenCount = 0
    return takeReadyWaiters()
  }

  /// Waits until everything that can be read now has been told of.
  ///
  /// - Returns: Whether it has been already: then `resume` is not kept.
  mutating func wait(_ resume: @escaping Waiter) -> Bool {
    if begun == told { return true }
    waiters.append((begun, resume))
    return false
  }

  private mutating func takeReadyWaiters() -> [Waiter] {
    // In the order of their numbers, since these only grow.
    let count = waiters.prefix { $0.through <= told }.count
    guard count > 0 else { return [] }
    defer { waiters.removeFirst(count) }
    return waiters.prefix(count).map(\.resume)
  }
}
