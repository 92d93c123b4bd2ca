import EventLoop
import Glibc
import RelayCore
import Synchronization

/// The limits on how far a store may fill the disk.
package struct DiskLimits: Sendable, Equatable {
  /// The most bytes that the store may take on disk; nil for no limit but the disk's.
  ///
  /// Its log and free pages do not count. Beyond it, appends fail as on a full disk.
  package var storeBytesMax: Int64?
  /// The bytes of the disk that new envelopes leave free; nil for the default of
  /// ``reserve(ofDisk:)``.
  package var reserveBytes: Int64?
  /// The largest post that a sender may make, in bytes.
  package var postBytesMax: Int64
  /// The most bytes of the log; beyond it, appends fail as on a full disk.
  package var logBytesMax: Int64

  /// Sets no limits but the disk's and the defaults.
  package init(
    storeBytesMax: Int64? = nil, reserveBytes: Int64? = nil, postBytesMax: Int64 = 0,
    logBytesMax: Int64? = nil
  ) {
    self.storeBytesMax = storeBytesMax
    self.reserveBytes = reserveBytes
    self.postBytesMax = postBytesMax
    self.logBytesMax = logBytesMax ?? StoreTuning.logBytesMax
  }

  /// The bytes of a disk of this size that new envelopes leave for the outcomes of accepted ones.
  ///
  /// By default it is half as much again as the largest post, as Postfix does with its messages
  /// (postconf(5), `queue_minfree`), and no less than the log may need; but never more than a share
  /// of a small disk.
  package func reserve(ofDisk bytes: Int64) -> Int64 {
    if let reserveBytes { return reserveBytes }
    let wanted = max(StoreTuning.diskBytesReserved, postBytesMax / 2 * 3)
    return min(wanted, bytes / StoreTuning.diskShareReserved)
  }

  /// The bytes in the log at which a checkpoint begins.
  var checkpointBytes: Int64 { min(StoreTuning.checkpointBytes, logBytesMax / 4) }
}

/// The room that new envelopes may still take on the disk.
///
/// An envelope's outcome has to be written before the envelope can be deleted. A disk that new
/// envelopes had filled to the last byte would have no room for that, and would never get any back.
final class DiskRoom: Sendable {
  /// The folder of the store.
  let folder: String
  /// What open uploads have claimed of it.
  let uploads = UploadRoom()
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

  /// Whether an error says that, and nothing of the disk itself.
  func isLimitReached(_ error: StoreError) -> Bool {
    [false, true].contains { error.detail == limitReached(byUploads: $0).detail }
  }

  /// The error that the store has reached its limit.
  ///
  /// - Parameter byUploads: Whether it would not have without what open uploads have claimed.
  func limitReached(byUploads: Bool) -> StoreError {
    StoreError(
      kind: .diskFull, operation: "add to", subject: folder,
      detail: byUploads
        ? "the store and what open uploads have claimed take as many bytes as limits.storeBytesMax "
          + "allows. 'waystation uploads list' shows the uploads, and 'waystation uploads cancel' "
          + "gives one up; the relay goes on by itself once they are complete or forgotten."
        : "the store has as many bytes as limits.storeBytesMax allows. The relay goes on by "
          + "itself once enough envelopes have been delivered and forgotten.")
  }
}

/// A file without content that takes room on the disk, and is deleted once no room is left.
///
/// Other programs can use the reserve that new envelopes leave free. They cannot use this part of
/// it. So when something else has filled the disk to its last byte, outcomes can still be written,
/// deliveries go on, and delivered envelopes can be deleted.
struct Ballast: ~Copyable {
  /// The file's name in the data folder.
  static let name = "ballast"

  private let path: String
  private let bytes: Int64
  /// Whether the file holds its room.
  private(set) var isHeld = false

  /// Takes no room yet, except what an earlier process has left.
  ///
  /// - Parameter room: Says how much to set aside.
  init(room: DiskRoom) {
    path = "\(room.folder)/\(Self.name)"
    bytes = room.ballastBytes
    isHeld = bytes > 0 && DataFolder.size(ofFile: path) >= bytes
  }

  /// Takes its room, if that leaves some for new envelopes.
  mutating func hold(room: DiskRoom) {
    guard !isHeld, bytes > 0, room.bytesLeft > bytes else { return }
    let number = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard number >= 0 else { return }
    let file = FileDescriptor(adopting: number)
    isHeld = posix_fallocate(file.number, 0, off_t(bytes)) == 0
    if !isHeld { unlink(path) }
  }

  /// Deletes the file, so that its room is free.
  ///
  /// - Returns: Whether it held any.
  mutating func release() -> Bool {
    guard isHeld else { return false }
    isHeld = false
    return unlink(path) == 0
  }
}
