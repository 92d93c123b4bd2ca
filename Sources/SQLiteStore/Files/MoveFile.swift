import EventLoop
import Glibc
import RelayCore

/// A small file in the data folder that tells of a move from it or into it.
///
/// A relay does not start on a folder that has it. A copy that `store backup` makes has none.
enum MoveFile {
  /// The name of the file.
  static let name = "moved"

  static func path(in folder: String) -> String { "\(folder)/\(name)" }

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
    let part = path(in: folder) + ".part"
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
      guard Glibc.write(file.number, text, text.count) == text.count else {
        throw StoreError(errno: errno, operation: "write", subject: part)
      }
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
