import EventLoop
import Glibc
import RelayCore
import SQLite
import SQLitePages

/// A small file in the data folder that tells of a move from it or into it.
///
/// A relay does not start on a folder that has it. A copy that `store backup` makes has none.
enum MoveFile {
  /// The name of the file.
  static let name = "moved"

  static func path(in folder: String) -> String { "\(folder)/\(name)" }
  /// Where it is written, before it gets its name.
  static func part(in folder: String) -> String { path(in: folder) + ".part" }

  /// Why no relay is to start on a folder; nil if one may.
  static func obstacle(to operation: String, _ folder: String) throws(StoreError) -> StoreError? {
    if let mark = try read(in: folder) { return mark.refusal(to: operation, folder) }
    // In the folder of a store it would be the rest of a move from there, which was cut off.
    guard access(part(in: folder), F_OK) == 0,
      try DataFolder.sizeIfThere(ofFile: DataFolder.database(in: folder)) == nil
    else { return nil }
    return StoreError(
      kind: .other, operation: operation, subject: folder,
      detail: "a move into it was cut off as it began. Run 'waystation store move' again, or make "
        + "the folder empty.")
  }

  /// Reads it; nil if there is none.
  static func read(in folder: String) throws(StoreError) -> MoveMark? {
    guard let file = try ReadOnlyFile.open(path(in: folder)) else { return nil }
    let bytes = file.read(Int(min(file.byteCount, 16_384)), at: 0)
    let line = String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count == 3, let side = MoveMark.Side(rawValue: String(words[0])),
      let move = Int64(words[1])
    else {
      throw StoreError(
        kind: .corrupt, operation: "read", subject: path(in: folder),
        detail:
          "it is to say which move this folder takes part in, and does not. Move it away once "
          + "you know where the store is.")
    }
    return MoveMark(side, move: move, place: String(words[2]))
  }

  /// Writes it; durable once this returns.
  static func write(_ mark: MoveMark, in folder: String) throws(StoreError) {
    let part = part(in: folder)
    let meaning =
      switch mark.side {
      case .departed:
        "This store has been moved there. No relay starts on it as long as this file is here;\n"
          + "'waystation store reopen' takes it away."
      case .arriving:
        "A move from there into this folder is not finished. No relay starts on it as long as\n"
          + "this file is here; the same 'waystation store move' finishes it."
      }
    let text = Array("\(mark.side.rawValue) \(mark.move) \(mark.place)\n\(meaning)\n".utf8)
    do {
      let file = try FileDescriptor.open(part, O_WRONLY | O_CREAT | O_TRUNC, to: "create")
      // A relay that is not root has to be able to read it, and to lift it.
      var owner = stat()
      if geteuid() == 0, stat(folder, &owner) == 0 {
        fchown(file.number, owner.st_uid, owner.st_gid)
      }
      try file.write(text, to: part)
      try file.sync(part)
    }
    guard rename(part, path(in: folder)) == 0 else {
      throw StoreError(errno: errno, operation: "rename", subject: part)
    }
    try DataFolder.sync(folder: folder)
  }

  /// Removes it; durable once this returns.
  static func remove(in folder: String) throws(StoreError) {
    guard unlink(path(in: folder)) == 0 || errno == ENOENT else {
      throw StoreError(errno: errno, operation: "remove", subject: path(in: folder))
    }
    try DataFolder.sync(folder: folder)
  }
}
