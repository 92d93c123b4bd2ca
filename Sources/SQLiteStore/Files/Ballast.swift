import EventLoop
import Glibc
import RelayCore

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
