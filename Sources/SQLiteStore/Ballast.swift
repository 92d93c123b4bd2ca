import EventLoop
import Glibc
import RelayCore

/// A file of no content that takes room on the disk, and is thrown overboard once none is left.
///
/// The reserve that new envelopes leave free is open to every other program as well. This part of
/// it is not: when something else has filled the disk to its last byte, outcomes can still be
/// written, so deliveries go on, and what was delivered can be deleted.
struct Ballast: ~Copyable {
  /// The file's name in the data folder.
  static let name = "ballast"

  private let path: String
  private let bytes: Int64
  /// Whether the room is taken.
  private(set) var isHeld = false

  /// Takes no room yet, but for what an earlier process has left.
  ///
  /// - Parameter room: Says how much is to be set aside.
  init(room: DiskRoom) {
    path = "\(room.folder)/\(Self.name)"
    bytes = room.ballastBytes
    isHeld = bytes > 0 && DataFolder.size(ofFile: path) >= bytes
  }

  /// Takes its room, if that leaves new envelopes some.
  mutating func hold(room: DiskRoom) {
    guard !isHeld, bytes > 0, room.bytesLeft > bytes else { return }
    let number = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard number >= 0 else { return }
    let file = FileDescriptor(adopting: number)
    isHeld = posix_fallocate(file.number, 0, off_t(bytes)) == 0
    if !isHeld { unlink(path) }
  }

  /// Gives its room to whoever is first.
  ///
  /// - Returns: Whether it had any.
  mutating func release() -> Bool {
    guard isHeld else { return false }
    isHeld = false
    return unlink(path) == 0
  }
}
