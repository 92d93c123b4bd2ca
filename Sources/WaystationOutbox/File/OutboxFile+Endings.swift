import RelayCore
import SQLite

extension OutboxFile {
  /// Stores how an item has ended.
  func insert(_ ending: KeptEnding) throws(StoreError) {
    let response = ending.response
    statements.insertEnding.set(
      ending.id, ending.key, ending.lane.raw, ending.tag, ending.sequence.map(Int64.init),
      ending.kind.rawValue, response?.status,
      response.map { response in
        RequestForm.bytes(of: response.headers.map { HeaderLine(name: $0.0, value: $0.1) })
      },
      response?.body, response?.isCut, ending.error?.id, ending.error?.message, ending.attempts,
      ending.bytes, ending.enqueuedWallMs, ending.userData.isEmpty ? nil : ending.userData)
    try statements.insertEnding.run()
  }

  /// How the item of this number has ended; nil if it has not, or nobody knows any more.
  func ending(_ id: Int64) throws(StoreError) -> KeptEnding? {
    try statements.endingByID.first(id) { row throws(StoreError) in Self.ending(row) }
  }

  /// How the item of this key has ended; nil if it has not, or nobody knows any more.
  func ending(key: String) throws(StoreError) -> KeptEnding? {
    try statements.endingByKey.first(key) { row throws(StoreError) in Self.ending(row) }
  }

  /// The next ending; nil if there is none.
  func nextEnding(after id: Int64) throws(StoreError) -> KeptEnding? {
    try statements.nextEnding.first(id) { row throws(StoreError) in Self.ending(row) }
  }

  /// Forgets the oldest endings.
  func forgetEndings(_ count: Int) throws(StoreError) {
    guard count > 0 else { return }
    var ids: [Int64] = []
    var last: [LaneNumber: Int64] = [:]
    statements.oldestEndings.set(Int64(count))
    while try statements.oldestEndings.step() {
      ids.append(statements.oldestEndings.int(0))
      guard let sequence = statements.oldestEndings.optionalInt(2) else { continue }
      let lane = LaneNumber(raw: statements.oldestEndings.int(1))
      last[lane] = max(last[lane] ?? 0, sequence)
    }
    for id in ids { try forgetEnding(id) }
    for (lane, sequence) in last { try forgetPages(of: lane, through: sequence) }
  }

  /// Forgets how an item has ended.
  func forgetEnding(_ id: Int64) throws(StoreError) {
    try statements.deleteEnding.run(id)
    try statements.deleteProof.run(id)
    try statements.deleteNamed.run(id)
  }

  /// The number of endings that are kept.
  func endingCount() throws(StoreError) -> Int {
    Int(try statements.endingCount.first { row throws(StoreError) in row.int(0) } ?? 0)
  }

  private static func ending(_ row: borrowing Statement) -> KeptEnding {
    let response = row.optionalInt(6).map { status in
      Response(
        status: Int(status),
        headers: (RequestForm.lines(row.bytes(7)) ?? []).map { ($0.name, $0.value) },
        body: row.bytes(8), isCut: row.bool(9))
    }
    let error = row.text(10).map { RecordedError(id: $0, message: row.text(11) ?? "") }
    return KeptEnding(
      id: row.int(0), key: row.text(1) ?? "", lane: LaneNumber(raw: row.int(2)),
      tag: row.text(3), sequence: row.optionalInt(4).map { UInt64(clamping: $0) },
      kind: EndingKind(rawValue: row.int(5)) ?? .cancelled, response: response, error: error,
      attempts: Int(row.int(12)), bytes: row.int(13), enqueuedWallMs: row.int(14),
      userData: row.bytes(15))
  }
}
