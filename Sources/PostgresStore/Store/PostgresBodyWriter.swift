#if PostgreSQL
import EventLoop
import Postgres
import RelayCore

/// A large body on its way into the database, piece by piece; all work is done on the thread of
/// bodies.
///
/// No envelope refers to it yet, so its pieces are not fenced. Each is confirmed before the next
/// one is written.
// Sound: `pieces`, `checksum` and `state` are only touched by jobs of that one thread, which runs
// them one after another.
final class PostgresBodyWriter: BodyWriter, @unchecked Sendable {
  private enum State { case open, finished, discarded }

  private let bodies: BodyWork
  private let uuid = StoredBodyFile.freshUUID()
  private var pieces = BodyPieces()
  /// Whether a piece was written.
  private var isBegun = false
  private var checksum = Checksum()
  private var state = State.open

  private init(_ bodies: BodyWork) { self.bodies = bodies }

  /// Begins a body; nothing is written before its first piece is full.
  static func begin(
    on bodies: BodyWork
  ) async throws(StoreError) -> PostgresBodyWriter {
    let writer = PostgresBodyWriter(bodies)
    try await bodies.perform("begin a body in") { _ throws(StoreError) in }
    return writer
  }

  func append(_ bytes: [UInt8]) async throws(StoreError) {
    try await bodies.perform("write a body to") { reader throws(StoreError) in
      try self.append(bytes, reader)
    }
  }

  func finish() async throws(StoreError) -> StoredBodyFile {
    try await bodies.perform("finish a body in") { reader throws(StoreError) in
      try self.finish(reader)
    }
  }

  func discard() {
    _ = bodies.jobs.queue.push { self.remove($0) }
  }

  // MARK: - On the thread of bodies

  private func append(_ bytes: [UInt8], _ reader: DatabaseReader) throws(StoreError) {
    guard state == .open else { throw cutOff("write") }
    bytes.withUnsafeBytes { checksum.append($0) }
    do throws(StoreError) {
      try pieces.append(bytes) { number, piece throws(StoreError) in
        try write(number, piece, reader)
      }
    } catch {
      remove(reader)
      throw error
    }
  }

  private func finish(_ reader: DatabaseReader) throws(StoreError) -> StoredBodyFile {
    guard state == .open else { throw cutOff("finish") }
    do throws(StoreError) {
      try pieces.writeRest { number, piece throws(StoreError) in try write(number, piece, reader) }
      // A body has a first piece, whatever its length.
      if !isBegun { try write(0, [], reader) }
    } catch {
      remove(reader)
      throw error
    }
    state = .finished
    checksum.endField()
    return StoredBodyFile(uuid: uuid, byteCount: pieces.byteCount, checksum: checksum.value)
  }

  private func write(
    _ number: Int32, _ piece: [UInt8], _ reader: DatabaseReader
  ) throws(StoreError) {
    guard try reader.write(chunk: number, of: uuid, piece) else {
      throw .bodyGone(uuid, operation: "write")
    }
    isBegun = true
  }

  private func remove(_ reader: DatabaseReader) {
    guard state != .discarded else { return }
    state = .discarded
    pieces = BodyPieces()
    // What cannot be deleted now is deleted by its age.
    if isBegun { try? reader.discard(body: uuid) }
  }

  private func cutOff(_ operation: String) -> StoreError {
    StoreError(
      kind: .inputOutput, operation: operation, subject: "a body",
      detail: "it was discarded or finished, or an earlier write of it failed. Begin it anew.")
  }
}

extension StoreError {
  static let bodyGoneDetail =
    "it has been deleted, as bodies are that nobody refers to any more."

  /// There is no such body.
  static func bodyGone(_ uuid: [UInt8], operation: String) -> StoreError {
    let file = StoredBodyFile(uuid: uuid, byteCount: 0, checksum: nil)
    return StoreError(
      kind: .inputOutput, operation: operation, subject: "the body \(file.path)",
      detail: bodyGoneDetail)
  }
}
#endif
