import RelayCore
import SQLiteStore
import StoreModel

#if PostgreSQL
import PostgresStore
#endif

/// The part of ``EnvelopeStore`` that keeps large bodies.
///
/// See ``EnvelopeStore`` for what each function promises.
protocol BodyStore: PlannedStore {
  func beginBody() async throws(StoreError) -> any BodyWriter
  func bodyBytes(
    of file: StoredBodyFile, from offset: Int64, countMax: Int
  ) async throws(StoreError) -> [UInt8]
  func checkBody(in file: StoredBodyFile) async throws(StoreError)
}

extension SQLiteStore: BodyStore {}
#if PostgreSQL
extension PostgresStore: BodyStore {}
#endif

extension BodyStore {
  /// Writes a body.
  func write(_ parts: [[UInt8]]) async throws(StoreError) -> StoredBodyFile {
    let writer = try await beginBody()
    for part in parts { try await writer.append(part) }
    return try await writer.finish()
  }

  /// Reads a body from its beginning to its end, by pieces of odd lengths.
  func bytes(of file: StoredBodyFile) async throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let piece = try await bodyBytes(of: file, from: Int64(bytes.count), countMax: 99_999)
      guard !piece.isEmpty else { return bytes }
      bytes += piece
    }
  }
}

extension Bench {
  /// The store, as one of tokens.
  var access: any AccessStore { part() }
  /// The store, as one of acts.
  var audit: any AuditStore { part() }
  /// The store, as one of the history.
  var history: any HistoryStore { part() }
  /// The store, as one of operations.
  var operations: any OperationStore { part() }
  /// The store, as one of large bodies.
  var bodies: any BodyStore { part() }

  private func part<Part>() -> Part {
    guard let part = planned as? Part else {
      preconditionFailure("\(factory.testDescription) is no \(Part.self)")
    }
    return part
  }
}
