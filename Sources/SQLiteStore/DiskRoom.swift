import Glibc
import RelayCore

/// How far new envelopes may fill the disk.
///
/// What became of an envelope has to be written before the envelope can be deleted. A disk that
/// new ones had filled to the last byte would have no room for that, and never get any back.
struct DiskRoom: Sendable {
  /// The folder that the store is in.
  let folder: String
  /// The most bytes that the store may take; nil for as many as the disk has.
  let storeBytesMax: Int64?

  /// How many bytes new envelopes may still take; 0 or less if none.
  ///
  /// A disk that cannot be asked is taken to have room: SQLite then says when it has not.
  var bytesLeft: Int64 {
    var disk = statvfs()
    guard statvfs(folder, &disk) == 0 else { return .max }
    let unitBytes = Int64(disk.f_frsize)
    let reserved = min(
      StoreTuning.diskBytesReservedMax,
      Int64(disk.f_blocks) * unitBytes / StoreTuning.diskShareReserved)
    return Int64(disk.f_bavail) * unitBytes - reserved
  }

  /// That there is no room for new envelopes.
  func lackOfRoom(operation: String) -> StoreError {
    StoreError(
      kind: .diskFull, operation: operation, subject: folder,
      detail: "the disk is nearly full, and what is left is kept for the outcomes of what was "
        + "accepted. Make room on the disk; it goes on by itself.")
  }

  /// That the store takes as many bytes as it may.
  func limitReached() -> StoreError {
    StoreError(
      kind: .diskFull, operation: "add to", subject: folder,
      detail: "the store has as many bytes as limits.storeBytesMax lets it have. It goes on by "
        + "itself once enough has been delivered and forgotten.")
  }
}
