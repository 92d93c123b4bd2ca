#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import RelayCore

/// Which file lies under a name: another one has another identity.
struct FileIdentity: Equatable {
  private let device: UInt64
  private let number: UInt64

  /// The file of this name; nil if there is none.
  init?(of path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(truncatingIfNeeded: status.st_ino)
  }
}

/// The system calls of an outbox, in one place for all platforms.
enum Platform {
  /// An error of the last system call.
  static func error(_ operation: String, _ subject: String) -> StoreError {
    let number = errno
    let isFull = number == ENOSPC || number == EDQUOT
    let text = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    return StoreError(
      kind: isFull ? .diskFull : .inputOutput, operation: operation, subject: subject,
      detail: isFull ? "\(text). Make room on the disk." : "\(text).")
  }

  /// Creates a folder if it is missing.
  static func createFolder(_ path: String) throws(StoreError) {
    if mkdir(path, 0o700) == 0 { return }
    guard errno == EEXIST else { throw error("create", path) }
  }

  /// Creates a folder, and those above it.
  static func createFolders(_ path: String) throws(StoreError) {
    guard !path.isEmpty, access(path, F_OK) != 0 else { return }
    if let slash = path.lastIndex(of: "/") { try createFolders(String(path[..<slash])) }
    try createFolder(path)
  }

  /// Syncs a file, or a folder with the names in it (fsync(2)).
  static func sync(_ path: String) throws(StoreError) {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw error("open", path) }
    defer { close(number) }
    guard fsync(number) == 0 else { throw error("sync", path) }
  }

  /// The whole content of a file.
  static func read(_ path: String, flags: Int32 = 0) throws(StoreError) -> [UInt8] {
    let number = open(path, O_RDONLY | O_CLOEXEC | flags)
    guard number >= 0 else { throw error("open", path) }
    defer { close(number) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = buffer.withUnsafeMutableBytes { system_read(number, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw error("read", path) }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }

  /// The bytes of what has to be a plain file, which a stranger may have put there.
  ///
  /// A pipe is not waited for, and a link is not followed.
  ///
  /// - Throws: `StoreError` of the kind `corrupt` for what is no file, or is larger.
  static func readFile(_ path: String, bytesMax: Int64) throws(StoreError) -> [UInt8] {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw error("read", path) }
    let isFile = status.st_mode & S_IFMT == S_IFREG
    guard isFile, status.st_size <= bytesMax else {
      throw StoreError(
        kind: .corrupt, operation: "read", subject: path,
        detail: isFile ? "it is larger than all that the outbox may hold" : "it is no file")
    }
    return try read(path, flags: O_NONBLOCK | O_NOFOLLOW)
  }

  /// The first bytes of a file, fewer if it is shorter; nil if it cannot be read.
  static func head(of path: String, byteCount: Int) -> [UInt8]? {
    stretch(of: path, from: 0, byteCount: byteCount)
  }

  /// Writes over the first bytes of a file, and has them on the disk when this returns.
  static func overwrite(_ path: String, with bytes: [UInt8]) throws(StoreError) {
    let number = open(path, O_WRONLY | O_CLOEXEC)
    guard number >= 0 else { throw error("open", path) }
    defer { close(number) }
    try write(bytes, to: number, path)
    guard fsync(number) == 0 else { throw error("sync", path) }
  }

  /// Writes a new file, and has it on the disk when this returns; its name is not, see
  /// ``sync(_:)``.
  static func write(_ bytes: [UInt8], toNew path: String) throws(StoreError) {
    let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw error("create", path) }
    defer { close(number) }
    do throws(StoreError) {
      try write(bytes, to: number, path)
      guard fsync(number) == 0 else { throw error("sync", path) }
    } catch {
      unlink(path)
      throw error
    }
  }

  private static func write(
    _ bytes: [UInt8], to number: Int32, _ path: String
  ) throws(StoreError) {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        system_write(number, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw error("write", path) }
      written += count
    }
  }

  /// The size of a file in bytes, and its checksums.
  static func sums(of path: String) throws(StoreError) -> (count: Int64, sums: FileSums) {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw error("open", path) }
    defer { close(number) }
    return try pass(number, path) { _ throws(StoreError) in }
  }

  /// Reads an open file to its end, piece by piece.
  private static func pass(
    _ number: Int32, _ path: String, _ take: (ArraySlice<UInt8>) throws(StoreError) -> Void
  ) throws(StoreError) -> (count: Int64, sums: FileSums) {
    var total: Int64 = 0
    var sums = FileSummer()
    var buffer = [UInt8](repeating: 0, count: Int(FileSums.blockBytes))
    while true {
      let count = buffer.withUnsafeMutableBytes { system_read(number, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw error("read", path) }
      if count == 0 { return (total, sums.finish()) }
      // Sound: the bytes are read within the call.
      buffer[..<count].withUnsafeBytes { sums.append($0) }
      try take(buffer[..<count])
      total += Int64(count)
    }
  }

  /// The bytes of a stretch of a file, fewer if it ends before; nil if it cannot be read.
  static func stretch(of path: String, from offset: Int64, byteCount: Int) -> [UInt8]? {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    defer { close(number) }
    var bytes = [UInt8](repeating: 0, count: byteCount)
    var filled = 0
    while filled < byteCount {
      let count = bytes[filled...].withUnsafeMutableBytes {
        pread(number, $0.baseAddress, $0.count, off_t(offset) + off_t(filled))
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      filled += count
    }
    return Array(bytes[..<filled])
  }

  /// Copies a file under a new name, and has it on the disk when this returns.
  ///
  /// - Returns: Its size in bytes, and its checksums.
  static func copy(
    _ source: String, toNew path: String
  ) throws(StoreError) -> (count: Int64, sums: FileSums) {
    let from = open(source, O_RDONLY | O_CLOEXEC)
    guard from >= 0 else { throw error("open", source) }
    defer { close(from) }
    let to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard to >= 0 else { throw error("create", path) }
    defer { close(to) }
    do throws(StoreError) {
      let copied = try pass(from, source) { piece throws(StoreError) in
        try write(Array(piece), to: to, path)
      }
      guard fsync(to) == 0 else { throw error("sync", path) }
      return copied
    } catch {
      unlink(path)
      throw error
    }
  }

  /// Moves a file to another name on the same file system.
  static func move(_ source: String, to path: String) throws(StoreError) {
    guard rename(source, path) == 0 else { throw error("move", source) }
  }

  /// Gives a file a second name on the same file system.
  static func link(_ source: String, as path: String) throws(StoreError) {
    guard system_link(source, path) == 0 else { throw error("link", source) }
  }

  /// A file's size in bytes; nil if there is none.
  static func size(of path: String) -> Int64? {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : nil
  }

  /// Removes a file; nothing happens if there is none.
  static func remove(_ path: String) { unlink(path) }

  /// The names in a folder, without those that begin with a dot, in their order.
  static func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// The bytes of a file system that are free for this user; nil if it does not say.
  static func roomBytes(of folder: String) -> Int64? {
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return nil }
    return Int64(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
  }

  /// A random number of the system.
  static func random() -> UInt64 { UInt64.random(in: .min ... .max) }
}

// The names of two of the calls are those of functions above.
private func system_read(_ number: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(number, bytes, count)
}
private func system_write(_ number: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(number, bytes, count)
}
private func system_link(_ source: String, _ path: String) -> Int32 { link(source, path) }
