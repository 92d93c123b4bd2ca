import Glibc

@testable import WaystationOutbox

/// Damages a file, as a bad disk does.
enum Damage {
  static func overwrite(_ path: String, at offset: Int, count: Int) throws {
    let number = open(path, O_WRONLY)
    guard number >= 0 else { throw TemporaryFolder.Failure(number: errno) }
    defer { close(number) }
    let bytes = [UInt8](repeating: 0xA5, count: count)
    guard pwrite(number, bytes, count, off_t(offset)) == count else {
      throw TemporaryFolder.Failure(number: errno)
    }
  }

  /// Turns some bits of one byte around.
  static func flip(_ path: String, at offset: Int, bits: UInt8) throws {
    let number = open(path, O_RDWR)
    guard number >= 0 else { throw TemporaryFolder.Failure(number: errno) }
    defer { close(number) }
    var byte: UInt8 = 0
    guard pread(number, &byte, 1, off_t(offset)) == 1 else {
      throw TemporaryFolder.Failure(number: errno)
    }
    byte ^= bits
    guard pwrite(number, &byte, 1, off_t(offset)) == 1 else {
      throw TemporaryFolder.Failure(number: errno)
    }
  }

  /// Makes what can be looked at and not be read: a folder that is as large as a body of its own.
  ///
  /// - Returns: Its size in bytes.
  static func unreadable(_ path: String) throws -> Int {
    guard mkdir(path, 0o700) == 0 else { throw TemporaryFolder.Failure(number: errno) }
    let name = String(repeating: "x", count: 200)
    for number in 0..<20_000 {
      if let size = Platform.size(of: path), size >= Int64(BodyFile.bytesMin) { return Int(size) }
      let file = creat("\(path)/\(name)\(number)", 0o600)
      guard file >= 0 else { throw TemporaryFolder.Failure(number: errno) }
      close(file)
    }
    throw TemporaryFolder.Failure(number: EFBIG)
  }
}

/// What a crash leaves of an outbox: a log that is not copied into the database yet.
struct CrashedOutbox {
  let stand: Stand
  let ids: [Item.ID]
  /// The database; its log is beside it.
  let path: String

  static let pageBytes = 4096
  /// The size of a page with what the log writes before it.
  static let frameBytes = 24 + pageBytes
  /// The size of what the log begins with.
  static let logHeaderBytes = 32

  /// Keeps items, each on the disk before the next one, and ends as a crash does.
  static func make(
    _ count: Int, _ change: (inout Settings) -> Void = { _ in }
  ) async throws -> CrashedOutbox {
    let stand = try await Stand {
      $0.startPaused = true
      change(&$0)
    }
    var ids: [Item.ID] = []
    for number in 1...count {
      ids.append(try await stand.outbox.enqueue(.init("POST", "/\(number)")))
    }
    let folder = "\(stand.folder.path)/outbox"
    let path = OutboxFile.path(in: folder)
    for suffix in ["", "-wal"] {
      _ = try Platform.copy(path + suffix, toNew: "\(folder)/kept\(suffix)")
    }
    await stand.outbox.close()
    for suffix in ["", "-wal"] { try Platform.move("\(folder)/kept\(suffix)", to: path + suffix) }
    return CrashedOutbox(stand: stand, ids: ids, path: path)
  }

  /// The numbers of the log's frames, from 0, that end a commit.
  func commits() throws -> [Int] {
    let log = try Platform.read(path + "-wal")
    return (0..<(log.count - Self.logHeaderBytes) / Self.frameBytes).filter { frame in
      let place = Self.place(of: frame) + 4
      return log[place..<place + 4].contains { $0 != 0 }
    }
  }

  /// Where a frame begins in the log.
  static func place(of frame: Int) -> Int { logHeaderBytes + frame * frameBytes }

  /// Whether anything was set aside.
  var isSetAside: Bool {
    Platform.names(in: "\(stand.folder.path)/outbox").contains { $0.contains("damaged") }
  }
}
