import EventLoop
import Glibc
import RelayCore
import SQLite

/// A large body on its way into a file; all work is done on the thread of ``BodyFiles``.
// Sound: `file`, `byteCount`, `checksum` and `isFinished` are only touched by jobs of that one
// thread, which runs them one after another.
final class BodyFileWriter: BodyWriter, @unchecked Sendable {
  private let files: BodyFiles
  private let path: String
  private var file: FileDescriptor?
  private var byteCount: Int64 = 0
  private var checksum = Checksum()
  private var isFinished = false

  private init(files: BodyFiles) {
    self.files = files
    path = files.freshPath()
  }

  /// Creates the file.
  static func begin(in files: BodyFiles) async throws(StoreError) -> BodyFileWriter {
    let writer = BodyFileWriter(files: files)
    try await files.perform("create a body") { () throws(StoreError) in try writer.create() }
    return writer
  }

  func append(_ bytes: [UInt8]) async throws(StoreError) {
    try await files.perform("write a body") { () throws(StoreError) in try self.write(bytes) }
  }

  func finish() async throws(StoreError) -> StoredBodyFile {
    try await files.perform("sync a body") { () throws(StoreError) in try self.sync() }
  }

  func discard() {
    _ = files.jobs.push { self.remove() }
  }

  // MARK: - On the thread of the files

  private func create() throws(StoreError) {
    file = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, to: "create")
  }

  private func write(_ bytes: [UInt8]) throws(StoreError) {
    guard file != nil else { throw cutOff("write") }
    do throws(StoreError) {
      try files.write(bytes, to: file, at: path)
    } catch {
      remove()
      files.noteLackOfRoom()
      throw error
    }
    byteCount += Int64(bytes.count)
    bytes.withUnsafeBytes { checksum.append($0) }
  }

  /// Syncs the bytes, then the name: fsync of a file does not make its folder's entry durable
  /// (fsync(2)).
  private func sync() throws(StoreError) -> StoredBodyFile {
    guard let number = file?.number else { throw cutOff("sync") }
    guard fdatasync(number) == 0 else {
      let code = errno
      remove()
      throw StoreError(errno: code, operation: "sync", subject: path)
    }
    try DataFolder.sync(folder: files.folder)
    file = nil
    isFinished = true
    checksum.endField()
    return StoredBodyFile(path: path, byteCount: byteCount, checksum: checksum.value)
  }

  private func remove() {
    guard file != nil || isFinished else { return }
    file = nil
    isFinished = false
    unlink(path)
  }

  private func cutOff(_ operation: String) -> StoreError {
    StoreError(
      kind: .inputOutput, operation: operation, subject: path,
      detail: "the body was discarded, or an earlier write of it failed. Begin it anew.")
  }
}
