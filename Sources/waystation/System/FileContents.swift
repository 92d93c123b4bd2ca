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
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError(code: errno, operation: "open", subject: path) }
    let descriptor = FileDescriptor(adopting: number)
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
