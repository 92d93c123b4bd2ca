import EventLoop
import Glibc

/// Reads small files whole.
enum FileContents {
  private static let pieceBytes = 65536

  /// The bytes of a file.
  ///
  /// - Parameter bytesMax: A longer file is refused with `EFBIG`.
  /// - Throws: ``SystemError`` with the path as subject.
  static func read(_ path: String, bytesMax: Int) throws(SystemError) -> [UInt8] {
    try readAll(try open(path, O_RDONLY | O_CLOEXEC), path, bytesMax)
  }

  /// The same, of a regular file alone: a pipe or a device is refused with `EINVAL`, and never
  /// waited for.
  static func readRegular(_ path: String, bytesMax: Int) throws(SystemError) -> [UInt8] {
    let descriptor = try open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    var status = stat()
    guard fstat(descriptor.number, &status) == 0 else {
      throw SystemError(code: errno, operation: "look at", subject: path)
    }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw SystemError(code: EISDIR, operation: "read", subject: path)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw SystemError(code: EINVAL, operation: "read", subject: path)
    }
    return try readAll(descriptor, path, bytesMax)
  }

  private static func open(
    _ path: String, _ flags: Int32
  ) throws(SystemError) -> FileDescriptor {
    let number = Glibc.open(path, flags)
    guard number >= 0 else { throw SystemError(code: errno, operation: "open", subject: path) }
    return FileDescriptor(adopting: number)
  }

  private static func readAll(
    _ descriptor: borrowing FileDescriptor, _ path: String, _ bytesMax: Int
  ) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: pieceBytes)
    while true {
      let count = Glibc.read(descriptor.number, &piece, pieceBytes)
      if count == 0 { return bytes }
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError(code: errno, operation: "read", subject: path)
      }
      bytes += piece[..<count]
      guard bytes.count <= bytesMax else {
        throw SystemError(code: EFBIG, operation: "read", subject: path)
      }
    }
  }
}
