import EventLoop
import Glibc
import RelayCore

extension BodyFiles {
  /// Gives a body a second name, or copies it to another file system.
  ///
  /// A complete body is never written to, so both stores may share it: each deletes only its own
  /// name.
  static func carryOver(_ old: String, to new: String) throws(StoreError) {
    if link(old, new) == 0 { return }
    guard let from = try ReadOnlyFile.open(old) else {
      throw StoreError(errno: ENOENT, operation: "read", subject: old)
    }
    let number = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw StoreError(errno: errno, operation: "create", subject: new) }
    let to = FileDescriptor(adopting: number)
    var place: Int64 = 0
    while place < from.byteCount {
      let piece = from.read(1 << 20, at: place)
      guard !piece.isEmpty else {
        throw StoreError(errno: EIO, operation: "read", subject: old)
      }
      guard Glibc.write(to.number, piece, piece.count) == piece.count else {
        throw StoreError(errno: errno, operation: "write", subject: new)
      }
      place += Int64(piece.count)
    }
    guard fsync(to.number) == 0 else {
      throw StoreError(errno: errno, operation: "sync", subject: new)
    }
  }
}
