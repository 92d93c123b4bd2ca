import Glibc
import RelayCore
import Synchronization

/// The room that new envelopes may still take on the disk.
///
/// An envelope's outcome has to be written before the envelope can be deleted. A disk that new
/// envelopes had filled to the last byte would have no room for that, and would never get any back.
final class DiskRoom: Sendable {
  /// The folder of the store.
  let folder: String
  private let inForce: Mutex<DiskLimits>

  /// Takes a folder and its limits.
  init(folder: String, limits: DiskLimits) {
    self.folder = folder
    inForce = Mutex(limits)
  }

  /// The limits in force.
  var limits: DiskLimits { inForce.withLock { $0 } }

  /// Changes the limits.
  func setLimits(_ limits: DiskLimits) { inForce.withLock { $0 = limits } }

  /// The bytes that new envelopes may still take; 0 or less if none.
  ///
  /// If the disk's state cannot be read, it is assumed to have room: SQLite then reports if it has
  /// none.
  var bytesLeft: Int64 {
    var disk = statvfs()
    guard statvfs(folder, &disk) == 0 else { return .max }
    let unitBytes = Int64(disk.f_frsize)
    let reserved = limits.reserve(ofDisk: Int64(disk.f_blocks) * unitBytes)
    return Int64(disk.f_bavail) * unitBytes - reserved
  }

  /// The bytes to set aside for outcomes alone: a quarter of the reserve, up to a limit.
  var ballastBytes: Int64 {
    var disk = statvfs()
    guard statvfs(folder, &disk) == 0 else { return 0 }
    let reserved = limits.reserve(ofDisk: Int64(disk.f_blocks) * Int64(disk.f_frsize))
    return min(StoreTuning.ballastBytesMax, reserved / 4)
  }

  /// The error that there is no room for new envelopes.
  func lackOfRoom(operation: String) -> StoreError {
    StoreError(
      kind: .diskFull, operation: operation, subject: folder,
      detail: "the disk is nearly full, and the rest is reserved for the outcomes of accepted "
        + "envelopes. Make room on the disk; the relay goes on by itself.")
  }

  /// The error that the log has reached its limit.
  func logLimitReached() -> StoreError {
    StoreError(
      kind: .diskFull, operation: "add to", subject: folder,
      detail: "the store's log has grown past limits.storeLogBytesMax, since it cannot be copied "
        + "into the database: most likely another program holds the database open and reads it. "
        + "End that program; the relay goes on by itself.")
  }

  /// The error that the store has reached its limit.
  func limitReached() -> StoreError {
    StoreError(
      kind: .diskFull, operation: "add to", subject: folder,
      detail: "the store has as many bytes as limits.storeBytesMax allows. The relay goes on by "
        + "itself once enough envelopes have been delivered and forgotten.")
  }
}
