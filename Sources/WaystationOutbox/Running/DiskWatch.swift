import RelayCore
import Synchronization

/// Looks now and then whether the disk has room for more, and the database is still in its place.
///
/// Between two looks what was handed over is counted. Where little room is left, it looks for each
/// item.
final class DiskWatch: Sendable {
  private struct Look {
    var left: Int64
    let at: Duration
  }

  /// How long a look is good for: others write to the disk as well.
  private static let age: Duration = .milliseconds(100)
  /// The bytes beside the reserve below which it looks for each item.
  private static let scarce: Int64 = 8 << 20
  /// A body is written to the database's log first, and then to the database.
  private static let writes: Int64 = 2

  private let folder: String
  private let file: FileIdentity?
  private let clock: any OutboxClock
  private let last = Mutex<Look?>(nil)
  /// The database's log, from its first commit on.
  private let log = Mutex<FileIdentity?>(nil)

  /// Watches a folder, and the database that lies in it now.
  init(of folder: String, _ clock: any OutboxClock) {
    self.folder = folder
    self.clock = clock
    file = FileIdentity(of: OutboxFile.path(in: folder))
  }

  /// Makes sure that so many bytes can be kept, and the reserve stays free.
  ///
  /// - Throws: `StoreError` of the kind `diskFull` or `displaced`.
  func check(_ bytes: Int64, reserve: Int64) throws(StoreError) {
    let now = clock.monotonic
    let isKnown = last.withLock { last in
      guard let known = last, now - known.at < Self.age, known.left - reserve > Self.scarce else {
        return false
      }
      last?.left -= bytes * Self.writes
      return true
    }
    if isKnown { return }
    guard FileIdentity(of: OutboxFile.path(in: folder)) == file, isLogThere else {
      throw .databaseGone(folder)
    }
    // A file system that does not say is found out about by its own refusal.
    guard let left = Platform.roomBytes(of: folder) else { return }
    last.withLock { $0 = Look(left: left - bytes * Self.writes, at: now) }
    guard left >= reserve else { throw .reserveReached(folder) }
  }

  /// Whether the log is still the one of before: what is kept stands there first.
  private var isLogThere: Bool {
    let now = FileIdentity(of: OutboxFile.path(in: folder) + "-wal")
    return log.withLock { log in
      guard let known = log else {
        log = now
        return true
      }
      return now == known
    }
  }
}

extension StoreError {
  fileprivate static func databaseGone(_ folder: String) -> StoreError {
    StoreError(
      kind: .displaced, operation: "enqueue into", subject: folder,
      detail:
        "Somebody has removed or replaced the database or its log: what is written is lost with "
        + "the end of the app. Close the outbox and open it again.")
  }

  fileprivate static func reserveReached(_ folder: String) -> StoreError {
    StoreError(
      kind: .diskFull, operation: "enqueue into", subject: folder,
      detail: "The rest of the disk is reserved. Make room on the disk.")
  }
}
