import RelayCore
import SQLite

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
  /// The state of an envelope by a reference; nil if there is none.
  func fate(of reference: EnvelopeReference) throws(StoreError) -> EnvelopeFate? {
    let id: EnvelopeID? =
      switch reference {
      case .key(let key, let client): try envelope(client: client, key: key)
      case .id(let id): id
      }
    guard let id, let serial = try serial(of: id) else { return nil }
    return try stateOf(id, serial)?.fate
  }

  /// The state of an existing envelope; read within a snapshot.
  func stateOf(_ id: EnvelopeID, _ serial: Serial) throws(StoreError) -> StoredState? {
    let place = try sql.place.first(serial) { row throws(StoreError) in
      StoredState(
        fate: EnvelopeFate(
          id: id, serial: serial, state: try row.standing(0).state, reason: row.text(3),
          endedAt: nil, attemptCount: row.int32(2),
          responseStatus: try responseStatus(of: serial)),
        dueAt: row.optionalTime(1), isInDoubt: row.bool(4))
    }
    if let place { return place }
    return try sql.end.first(serial) { row throws(StoreError) in
      StoredState(
        fate: EnvelopeFate(
          id: id, serial: serial, state: try row.end(0), reason: row.text(3),
          endedAt: row.time(1), attemptCount: row.int32(2),
          responseStatus: try responseStatus(of: serial)),
        hasLastAttempt: !row.isNull(4), lastError: row.text(9))
    }
  }

  /// The answer to a key, as seen from an envelope that refers to it.
  func answer(to key: String, for serial: Serial) throws(StoreError) -> ReferencedAnswer {
    let found = try sql.referenced.first(key, serial) { row throws(StoreError) in
      (id: try row.id(0), isInSameLane: row.bool(1), serial: row.int(2))
    }
    guard let found else { return .unknown }
    guard found.isInSameLane else { return .elsewhere }
    guard found.serial < serial else { return .notEarlier }
    guard let state = try stateOf(found.id, found.serial)?.fate.state else { return .unknown }
    guard state == .delivered else { return .undelivered(state) }
    return .delivered(try keptResponse(of: found.serial))
  }
}
