import EventLoop
import Glibc
import RelayCore

/// A request's body in the form that libcurl reads, for the length of its transfer.
struct OutgoingBody: ~Copyable {
  /// The length in bytes.
  let byteCount: Int64
  /// The bytes, if they are in memory; valid while this value lives.
  ///
  /// It is a copy, since an array's storage may not be pointed at beyond one call. It is small:
  /// large bodies come as files.
  let memory: UnsafeMutableRawPointer?

  private let file: Int32?
  private var offset: Int64 = 0

  /// Makes an empty body.
  init() {
    byteCount = 0
    memory = nil
    file = nil
  }

  /// Takes a body; a file is opened, and has to have its stored length.
  init(_ body: EnvelopeBody) throws(SystemError) {
    switch body {
    case .inline(let bytes):
      memory = bytes.isEmpty ? nil : Self.copy(of: bytes)
      file = nil
    case .file(let stored):
      memory = nil
      file = try Self.open(stored)
    }
    byteCount = body.byteCount
  }

  deinit {
    memory?.deallocate()
    if let file { _ = close(file) }
  }

  private static func copy(of bytes: [UInt8]) -> UnsafeMutableRawPointer {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 1)
    bytes.withUnsafeBytes {
      UnsafeMutableRawBufferPointer(start: copy, count: bytes.count).copyMemory(from: $0)
    }
    return copy
  }

  private static func open(_ stored: StoredBodyFile) throws(SystemError) -> Int32 {
    let number = Glibc.open(stored.path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError(code: errno, operation: "open a stored body") }
    var status = stat()
    guard fstat(number, &status) == 0, Int64(status.st_size) == stored.byteCount else {
      _ = close(number)
      throw SystemError(code: EIO, operation: "find all of a stored body")
    }
    return number
  }

  /// Continues reading the file; nil if it cannot be read, or has become shorter.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    guard let file else { return nil }
    let wanted = min(Int64(buffer.count), byteCount - offset)
    guard wanted > 0 else { return 0 }
    while true {
      let count = pread(file, buffer.baseAddress, Int(wanted), off_t(offset))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      offset += Int64(count)
      return count
    }
  }

  /// Moves to an offset in the file, since libcurl has to send it again.
  mutating func seek(to offset: Int64) -> Bool {
    guard offset >= 0, offset <= byteCount else { return false }
    self.offset = offset
    return true
  }
}
