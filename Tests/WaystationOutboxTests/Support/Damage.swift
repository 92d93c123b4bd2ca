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
