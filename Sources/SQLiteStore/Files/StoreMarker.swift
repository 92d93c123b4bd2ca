import EventLoop
import Glibc
import RelayCore

/// A small file in the data folder that tells that a store was begun there.
///
/// Without it, a database that has vanished, or is empty after a broken copy, would look like a new
/// one: the relay would start over, and nobody would notice that everything is gone.
enum StoreMarker {
  private static let text = """
    A store was begun in this folder. While this file is here, a relay does not start on a
    database that is empty or gone, since what it had accepted would be lost without a word.
    To begin anew, move the whole folder away.

    """

  static func path(in folder: String) -> String { folder + "/begun" }

  /// Whether a store was begun in this folder, so that an empty or missing database is a loss.
  static func exists(in folder: String) -> Bool { access(path(in: folder), F_OK) == 0 }

  /// The path of the file that a salvage leaves if rows of tokens could not be read.
  private static func lackPath(in folder: String) -> String { folder + "/tokens-lost" }

  /// Whether tokens were lost on the way into this folder.
  ///
  /// A store that was closed to all but the holders of its tokens must not be open to everybody
  /// once the tokens are gone.
  static func lacksTokens(in folder: String) -> Bool { access(lackPath(in: folder), F_OK) == 0 }

  /// Records durably that tokens were lost on the way into this folder.
  static func writeLackOfTokens(in folder: String) throws(StoreError) {
    let path = lackPath(in: folder)
    try FileDescriptor.open(path, O_WRONLY | O_CREAT, to: "create").sync(path)
  }

  /// Records durably that a store was begun here; called once its database is on disk.
  ///
  /// A missing marker is no error: a lost database is then taken for one that has yet to be made.
  /// So a disk without room for it does not keep a relay from starting.
  static func write(in folder: String) {
    guard !exists(in: folder) else { return }
    let number = open(path(in: folder), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard number >= 0 else { return }
    let file = FileDescriptor(adopting: number)
    guard Glibc.write(file.number, text, text.utf8.count) == text.utf8.count,
      fsync(file.number) == 0
    else { return }
    try? DataFolder.sync(folder: folder)
  }
}
