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

  /// What there is to send now.
  enum Reading {
    /// As many bytes as this; 0 at the end.
    case bytes(Int)
    /// Nothing, until the next part has come.
    case notYet
    /// Nothing, since the body cannot be read, or has become shorter.
    case failed
  }

  private let file: Int32?
  private let remote: RemoteBody?
  private let pieces: (@Sendable (Int64) -> [UInt8]?)?
  /// The piece that is being sent, and where it begins.
  private var piece: (start: Int64, bytes: [UInt8]) = (0, [])
  private var offset: Int64 = 0

  /// Makes an empty body.
  init() {
    byteCount = 0
    memory = nil
    file = nil
    remote = nil
    pieces = nil
  }

  /// Takes a body of a conversation; nil if its beginning cannot be read.
  init?(_ content: Conversation.Content) {
    remote = nil
    file = nil
    switch content {
    case .none:
      byteCount = 0
      memory = nil
      pieces = nil
    case .bytes(let bytes):
      byteCount = Int64(bytes.count)
      memory = bytes.isEmpty ? nil : Self.copy(of: bytes)
      pieces = nil
    case .pieces(let count, let read):
      byteCount = count
      memory = nil
      pieces = read
      guard let first = read(0) else { return nil }
      piece = (0, first)
    }
  }

  /// Takes a body; a file is opened, and has to have its stored length.
  ///
  /// - Parameter remotely: How to read what is no file on this machine; nil if it is one.
  init(
    _ body: EnvelopeBody, remotely: ((StoredBodyFile) -> RemoteBody)? = nil
  ) throws(SystemError) {
    switch body {
    case .inline(let bytes):
      memory = bytes.isEmpty ? nil : Self.copy(of: bytes)
      file = nil
      remote = nil
    case .file(let stored):
      memory = nil
      remote = remotely?(stored)
      file = remote == nil ? try Self.open(stored.path) { $0 == stored.byteCount } : nil
    }
    byteCount = body.byteCount
    pieces = nil
  }

  /// Why it could not be read; nil if it could, or is on this machine.
  var failure: String? { remote?.failure }

  /// Takes a part of it that has come; false if it was for another one.
  func take(_ arrival: BodyArrival) -> Bool { remote?.take(arrival) ?? false }

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

  private static func open(
    _ path: String, fits: (Int64) -> Bool
  ) throws(SystemError) -> Int32 {
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard number >= 0 else { throw SystemError(code: errno, operation: "open a stored body") }
    var status = stat()
    guard fstat(number, &status) == 0, fits(Int64(status.st_size)) else {
      _ = close(number)
      throw SystemError(code: EIO, operation: "find all of a stored body")
    }
    return number
  }

  /// Continues reading.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    if let remote { return remote.read(into: buffer) }
    if let pieces { return read(pieces, into: buffer) }
    guard let file else { return .failed }
    let wanted = min(Int64(buffer.count), byteCount - offset)
    guard wanted > 0 else { return .bytes(0) }
    while true {
      let count = pread(file, buffer.baseAddress, Int(wanted), off_t(offset))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return .failed }
      offset += Int64(count)
      return .bytes(count)
    }
  }

  private mutating func read(
    _ pieces: (Int64) -> [UInt8]?, into buffer: UnsafeMutableRawBufferPointer
  ) -> Reading {
    guard offset < byteCount else { return .bytes(0) }
    if offset < piece.start || offset >= piece.start + Int64(piece.bytes.count) {
      guard let next = pieces(offset), !next.isEmpty else { return .failed }
      piece = (offset, next)
    }
    let rest = piece.bytes[Int(offset - piece.start)...].prefix(buffer.count)
    buffer.copyBytes(from: rest)
    offset += Int64(rest.count)
    return .bytes(rest.count)
  }

  /// Moves to an offset, since libcurl has to send it again.
  mutating func seek(to offset: Int64) -> Bool {
    if let remote { return remote.seek(to: offset) }
    guard offset >= 0, offset <= byteCount else { return false }
    self.offset = offset
    return true
  }
}
