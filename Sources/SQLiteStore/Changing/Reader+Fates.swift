import RelayCore

/// An envelope's state, as in its narrow row.
struct StoredState {
  var fate: EnvelopeFate
  var dueAt: WallTime?
  var isInDoubt = false
  /// Whether the row has the last attempt itself.
  var hasLastAttempt = false
  /// The failure of that attempt; nil if it did not fail.
  var lastError: String?
}

extension Reader {
  /// The states of some envelopes, all in one snapshot.
  func fates(of references: [EnvelopeReference]) throws(StoreError) -> [EnvelopeFate?] {
    try snapshot { () throws(StoreError) -> [EnvelopeFate?] in
      var fates: [EnvelopeFate?] = []
      fates.reserveCapacity(references.count)
      for reference in references { fates.append(try fate(of: reference)) }
      return fates
    }
  }

  private func fate(of reference: EnvelopeReference) throws(StoreError) -> EnvelopeFate? {
    switch reference {
    case .key(let key, let client):
      guard let id = try envelope(client: client, key: key) else { return nil }
      return try fate(of: id)
    case .id(let id):
      return try fate(of: id)
    }
  }

  private func fate(of id: EnvelopeID) throws(StoreError) -> EnvelopeFate? {
    guard let serial = try serial(of: id) else { return nil }
    return try stateOf(id, serial)?.fate
  }

  /// The state of an existing envelope; read within a snapshot.
  func stateOf(_ id: EnvelopeID, _ serial: Serial) throws(StoreError) -> StoredState? {
    sql.place.bind(1, serial)
    if try sql.place.step() {
      defer { sql.place.reset() }
      return StoredState(
        fate: EnvelopeFate(
          id: id, serial: serial, state: try Standing(code: sql.place.int(0)).state,
          reason: sql.place.text(3), endedAt: nil,
          attemptCount: Int32(truncatingIfNeeded: sql.place.int(2)),
          responseStatus: try responseStatus(of: serial)),
        dueAt: WallTime(sql.place.optionalInt(1)), isInDoubt: sql.place.int(4) != 0)
    }
    sql.end.bind(1, serial)
    guard try sql.end.step() else { return nil }
    defer { sql.end.reset() }
    return StoredState(
      fate: EnvelopeFate(
        id: id, serial: serial, state: try EnvelopeState(endCode: sql.end.int(0)),
        reason: sql.end.text(3), endedAt: WallTime(millisecondsSinceEpoch: sql.end.int(1)),
        attemptCount: Int32(truncatingIfNeeded: sql.end.int(2)),
        responseStatus: try responseStatus(of: serial)),
      hasLastAttempt: !sql.end.isNull(4), lastError: sql.end.text(9))
  }
}
