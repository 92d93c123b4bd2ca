import Glibc

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
}
