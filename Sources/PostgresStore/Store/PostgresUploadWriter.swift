#if PostgreSQL
import EventLoop
import RelayCore

/// An upload that is added to, piece by piece; all work is done on the thread of bodies.
///
/// It writes only as long as nobody else has taken a turn of the upload: a relay that was frozen
/// for long writes nothing into what another one has gone on with.
// Sound: `pieces` are only touched by jobs of that one thread, which runs them one after another;
// `synced` only by the one task that has the upload's turn here.
final class PostgresUploadWriter: UploadWriter, @unchecked Sendable {
  private let bodies: BodyWork
  private let id: UploadID
  private let uuid: [UInt8]
  private let turn: Int64
  private var pieces = BodyPieces()
  private var synced: Int64

  private init(
    _ id: UploadID, _ begun: (turn: Int64, body: [UInt8], byteCount: Int64), _ bodies: BodyWork
  ) {
    self.id = id
    self.bodies = bodies
    (turn, uuid) = (begun.turn, begun.body)
    synced = begun.byteCount
  }

  /// Takes a turn of an open upload; nil if there is none, or its pieces are lost.
  static func resume(
    _ id: UploadID, _ bodies: BodyWork
  ) async throws(StoreError) -> PostgresUploadWriter? {
    try await bodies.perform("go on with an upload in") { reader throws(StoreError) in
      guard let begun = try reader.takeTurn(of: id) else { return nil }
      let writer = PostgresUploadWriter(id, begun, bodies)
      return try writer.readRest(reader) ? writer : nil
    }
  }

  func append(_ bytes: [UInt8]) async throws(StoreError) {
    try await bodies.perform("write an upload to") { reader throws(StoreError) in
      try self.append(bytes, reader)
    }
  }

  func sync(length: Int64?, at time: WallTime) async throws(StoreError) {
    synced = try await bodies.perform("note an upload in") { reader throws(StoreError) in
      try self.sync(length, time, reader)
    }
  }

  var body: StoredBodyFile { StoredBodyFile(uuid: uuid, byteCount: synced, checksum: nil) }

  // MARK: - On the thread of bodies

  /// Reads the bytes of the last piece, and drops what was written behind the upload's end.
  private func readRest(_ reader: DatabaseReader) throws(StoreError) -> Bool {
    do throws(StoreError) {
      pieces = try BodyPieces(behind: synced) { start, count throws(StoreError) in
        try reader.bytes(of: body, from: start, countMax: count)
      }
    } catch {
      // Pieces that were deleted, or one that is too short: nothing else tells of itself so.
      guard error.kind == .corrupt || error.isBodyGone else { throw error }
      return false
    }
    try reader.drop(behind: pieces.fullCount, of: id, turn: turn)
    return true
  }

  private func append(_ bytes: [UInt8], _ reader: DatabaseReader) throws(StoreError) {
    try pieces.append(bytes) { number, piece throws(StoreError) in
      try write(number, piece, reader)
    }
  }

  private func sync(
    _ length: Int64?, _ time: WallTime, _ reader: DatabaseReader
  ) throws(StoreError) -> Int64 {
    // The first piece, which any body has, is there since the upload began.
    try pieces.writeRest { number, piece throws(StoreError) in try write(number, piece, reader) }
    let byteCount = pieces.byteCount
    let isNoted = try reader.note(id, turn: turn, byteCount: byteCount, length: length, at: time)
    guard isNoted else { throw othersTurn }
    return byteCount
  }

  private func write(
    _ number: Int32, _ piece: [UInt8], _ reader: DatabaseReader
  ) throws(StoreError) {
    guard try reader.write(chunk: number, of: id, turn: turn, piece) else { throw othersTurn }
  }

  private var othersTurn: StoreError {
    StoreError(
      kind: .inputOutput, operation: "add to", subject: "the upload \(id)",
      detail: "another request goes on with it, or it was forgotten. Ask for its offset anew.")
  }
}

extension StoreError {
  /// Whether it says that a body has been deleted.
  fileprivate var isBodyGone: Bool { kind == .inputOutput && detail == Self.bodyGoneDetail }
}

extension BodyWork {
  /// Has the thread of bodies do something.
  func perform<Value: Sendable>(
    _ operation: String, _ body: @escaping @Sendable (DatabaseReader) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withUnsafeContinuation { continuation in
      jobs.ask(operation, body) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }
}
#endif
