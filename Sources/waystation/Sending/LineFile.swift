import EventLoop
import Glibc

/// A file of lines, read piece by piece.
final class LineFile {
  /// The longest line, in bytes.
  static let lineBytesMax = 64 << 20
  private static let pieceBytes = 1 << 18

  private let file: FileDescriptor
  private let path: String
  private var buffer: [UInt8] = []
  private var start = 0
  private var isOver = false
  /// The number of bytes that have been returned, line ends included.
  private(set) var offset: Int64 = 0
  /// The number of bytes in the file; nil if that cannot be known.
  let bytes: Int64?
  /// Whether reading may begin at any offset.
  var isSeekable: Bool { bytes != nil }

  /// - Parameter path: `-` for standard input.
  init(_ path: String) throws(OperatorFailure) {
    self.path = path
    let number = path == "-" ? dup(0) : open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw Self.failure(path) }
    file = FileDescriptor(adopting: number)
    var status = stat()
    let isFile = fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    bytes = isFile && path != "-" ? Int64(status.st_size) : nil
  }

  private static func failure(_ path: String) -> OperatorFailure {
    let error = SystemError(code: errno, operation: "read", subject: path)
    return OperatorFailure(reason: "\(path) cannot be read: \(error.reason)")
  }

  /// The first bytes of the file, by which it is recognised; they may have been read already.
  func head(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let read = pread(file.number, &bytes, count, 0)
    return Array(bytes.prefix(max(0, read)))
  }

  /// Goes on at an offset.
  func skip(to offset: Int64) {
    lseek(file.number, off_t(offset), SEEK_SET)
    self.offset = offset
  }

  /// The next line without its end; nil after the last.
  func next() throws(OperatorFailure) -> ArraySlice<UInt8>? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0A) {
        defer { start = end + 1 }
        offset += Int64(end + 1 - start)
        return buffer[start..<end]
      }
      guard !isOver else {
        defer { start = buffer.count }
        offset += Int64(buffer.count - start)
        return start < buffer.count ? buffer[start...] : nil
      }
      searched = buffer.count - start
      buffer.removeFirst(start)
      start = 0
      guard buffer.count <= Self.lineBytesMax else {
        throw OperatorFailure(reason: "\(path) has a line of more than 64 MiB")
      }
      try fill()
    }
  }

  private func fill() throws(OperatorFailure) {
    var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
    while true {
      let count = read(file.number, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Self.failure(path) }
      isOver = count == 0
      buffer += piece.prefix(count)
      return
    }
  }
}
