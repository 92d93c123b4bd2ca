import Glibc
import RelayCore
import Synchronization

/// How far new envelopes may fill the disk.
///
/// What became of an envelope has to be written before the envelope can be deleted. A disk that
/// new ones had filled to the last byte would have no room for that, and never get any back.
final class DiskRoom: Sendable {
  /// The folder that the store is in.
  let folder: String
  private let inForce: Mutex<DiskLimits>

  /// A folder, and what it is held to.
  init(folder: String, limits: DiskLimits) {
    self.folder = folder
    inForce = Mutex(limits)
  }

  /// What it is held to.
  var limits: DiskLimits { inForce.withLock { $0 } }

  /// Holds it to other limits from now on.
  func hold(to limits: DiskLimits) { inForce.withLock { $0 = limits } }

  /// How many bytes new envelopes may still take; 0 or less if none.
  ///
  /// A disk that cannot be asked is taken to have room: SQLite then says when it has not.
  var bytesLeft: Int64 {
    var disk = statvfs()
    guard statvfs(folder, &disk) == 0 else { return .max }
    let unitBytes = Int64(disk.f_frsize)
    let reserved = limits.reserve(ofDisk: Int64(disk.f_blocks) * unitBytes)
    return Int64(disk.f_bavail) * unitBytes - reserved
  }

  /// How much is set aside for outcomes alone: a quarter of the reserve, within a limit.
  var ballastBytes: Int64 {
    var disk = statvfs()
    guard statvfs(folder, &disk) == 0 else { return 0 }
    let reserved = limits.reserve(ofDisk: Int64(disk.f_blocks) * Int64(disk.f_frsize))
    return min(StoreTuning.ballastBytesMax, reserved / 4)
  }

  /// That there is no room for new envelopes.
  func lackOfRoom(operation: String) -> StoreError {
    StoreError(
      kind: .diskFull, operation: operation, subject: folder,
      detail: "the disk is nearly full, and what is left is kept for the outcomes of what was "
        + "accepted. Make room on the disk; it goes on by itself.")
  }

  /// That the log has grown as far as it may.
  func logLimitReached() -> StoreError {
    StoreError(
      kind: .diskFull, operation: "add to", subject: folder,
      detail: "the store's log has grown past limits.storeLogBytesMax, since it cannot be copied "
        + "into the database: most likely another program holds the database open and reads it. "
        + "End that program; it goes on by itself.")
  }

  /// That the store takes as many bytes as it may.
  func limitReached() -> StoreError {
    StoreError(
      kind: .diskFull, operation: "add to", subject: folder,
      detail: "the store has as many bytes as limits.storeBytesMax lets it have. It goes on by "
        + "itself once enough has been delivered and forgotten.")
  }
}
