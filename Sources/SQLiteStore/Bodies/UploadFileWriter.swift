import EventLoop
import Glibc
import RelayCore
import SQLite

/// The file of an upload, which is added to; all work on it is done on the thread of ``BodyFiles``.
// Sound: `file` and `byteCount` are only touched by jobs of that one thread, which runs them one
// after another; `synced` only by the one task that has the upload's turn.
final class UploadFileWriter: UploadWriter, @unchecked Sendable {
  /// Notes in the upload's row how much is on disk; false if there is no such row any more.
  typealias Note =
    @Sendable (_ offset: Int64, _ length: Int64?, _ time: WallTime) async throws(StoreError) -> Bool

  private let files: BodyFiles
  private let path: String
  private let note: Note
  private var file: FileDescriptor?
  private var byteCount: Int64
  private var synced: Int64

  private init(files: BodyFiles, name: String, offset: Int64, note: @escaping Note) {
    self.files = files
    path = "\(files.folder)/\(name)"
    byteCount = offset
    synced = offset
    self.note = note
  }

  /// Creates the file of a new upload, durably.
  ///
  /// - Returns: Its name.
  static func create(in files: BodyFiles) async throws(StoreError) -> String {
    try await files.perform("create a body") { () throws(StoreError) -> String in
      let path = files.freshPath()
      _ = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL, to: "create")
      try DataFolder.sync(folder: files.folder)
      return BodyFiles.name(of: StoredBodyFile(path: path, byteCount: 0))
    }
  }

  /// Opens the file of an upload, and cuts it where it ends for good; nil if some of it is lost.
  static func resume(
    in files: BodyFiles, name: String, at offset: Int64, note: @escaping Note
  ) async throws(StoreError) -> UploadFileWriter? {
    let writer = UploadFileWriter(files: files, name: name, offset: offset, note: note)
    let isWhole = try await files.perform("open a body") { () throws(StoreError) in
      try writer.open()
    }
    return isWhole ? writer : nil
  }

  func append(_ bytes: [UInt8]) async throws(StoreError) {
    try await files.perform("write a body") { () throws(StoreError) in try self.write(bytes) }
  }

  func sync(length: Int64?, at time: WallTime) async throws(StoreError) {
    let count = try await files.perform("sync a body") { () throws(StoreError) in
      try self.sync()
    }
    guard try await note(count, length, time) else { throw gone }
    synced = count
  }

  var body: StoredBodyFile { StoredBodyFile(path: path, byteCount: synced) }

  // MARK: - On the thread of the files

  private func open() throws(StoreError) -> Bool {
    let number = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard number >= 0 else {
      // Neither a pipe that nobody reads nor a link is what was written.
      if [ENOENT, ENXIO, ELOOP].contains(errno) { return false }
      throw StoreError(errno: errno, operation: "open", subject: path)
    }
    let opened = FileDescriptor(adopting: number)
    var facts = stat()
    guard fstat(number, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return false }
    guard lseek(number, 0, SEEK_END) >= off_t(byteCount) else { return false }
    guard ftruncate(number, off_t(byteCount)) == 0, lseek(number, off_t(byteCount), SEEK_SET) >= 0
    else {
      throw StoreError(errno: errno, operation: "cut", subject: path)
    }
    file = consume opened
    return true
  }

  private func write(_ bytes: [UInt8]) throws(StoreError) {
    guard file != nil else { throw gone }
    do throws(StoreError) {
      try files.write(bytes, to: file, at: path)
    } catch {
      // What was written of this piece is cut off when the upload goes on.
      file = nil
      files.noteLackOfRoom()
      throw error
    }
    byteCount += Int64(bytes.count)
  }

  private func sync() throws(StoreError) -> Int64 {
    guard let number = file?.number else { throw gone }
    guard fdatasync(number) == 0 else {
      let code = errno
      // What is on disk now, nobody knows: only what was synced before is gone on from.
      file = nil
      throw StoreError(errno: code, operation: "sync", subject: path)
    }
    return byteCount
  }

  private var gone: StoreError {
    StoreError(
      kind: .inputOutput, operation: "add to", subject: path,
      detail: "an earlier write of it failed, or the upload was forgotten. Ask for its offset anew."
    )
  }
}
