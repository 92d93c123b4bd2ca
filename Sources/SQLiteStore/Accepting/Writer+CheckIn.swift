import RelayCore
import SQLite

extension SQLiteStore {
  /// See ``EnvelopeStore``.
  package func checkIn(
    _ name: String, seenThrough number: EndingNumber, countMax: Int
  ) async throws(StoreError) -> CheckInPage? {
    let standing = try await read { reader throws(StoreError) in
      try reader.checkInStanding(of: name, seenThrough: number)
    }
    guard let standing else { return nil }
    // A number that was never given out says nothing of what its owner has seen.
    let seen = number <= standing.lastEnding ? number : 0
    if !standing.isFilled { try await beginCheckIns(of: standing.client) }
    if standing.hasSeen, seen > 0 {
      try await write("check in") { writer throws(StoreError) in
        try writer.checkIn.forgetThrough.run(standing.client, seen)
      }
    }
    return try await read { reader throws(StoreError) in
      try reader.endings(of: standing.client, after: seen, countMax: countMax)
    }
  }

  /// The first time: first endings are kept from now on, and then those are looked up that were
  /// there before, so that none is missed in between.
  private func beginCheckIns(of client: ClientNumber) async throws(StoreError) {
    try await write("check in for the first time") { writer throws(StoreError) in
      try writer.registerCheckIn(of: client)
    }
    let ended = try await read { reader throws(StoreError) in
      try reader.recentlyEnded(of: client)
    }
    try await write("check in for the first time") { writer throws(StoreError) in
      try writer.fill(ended, endedOf: client)
    }
  }
}

// Endings that are to be told. Only clients that have checked in have any: those who never do cost
// nothing.
extension Writer {
  /// Reads which clients check in.
  static func clientsCheckingIn(
    on connection: borrowing Connection
  ) throws(StoreError) -> Set<ClientNumber> {
    Set(try Statement("SELECT client FROM checks_in", on: connection).rows { $0.client(0) })
  }

  /// From now on this client's endings are kept to be told.
  func registerCheckIn(of client: ClientNumber) throws(StoreError) {
    try checkIn.register.run(client)
    if connection.changeCount > 0 { state.checkingIn.insert(client) }
  }

  /// Adds what had ended before the client first checked in.
  func fill(_ serials: [Serial], endedOf client: ClientNumber) throws(StoreError) {
    for serial in serials {
      let number = state.ledger.lastEnding + 1
      // One that has ended since the client was registered has its number already.
      guard try checkIn.number.hasRow(number, serial) else { continue }
      state.ledger.lastEnding = number
      try checkIn.insert.run(client, number, serial)
    }
    try checkIn.setFilled.run(client)
  }

  /// The number of an ending that is to be told; nil if its client does not check in.
  func numberEnding(of serial: Serial, client: ClientNumber) throws(StoreError) -> EndingNumber? {
    guard state.checkingIn.contains(client) else { return nil }
    state.ledger.lastEnding += 1
    try checkIn.insert.run(client, state.ledger.lastEnding, serial)
    return state.ledger.lastEnding
  }

  /// The envelope waits again, or is deleted: there is no ending to be told any more.
  func forgetEnding(_ number: EndingNumber?, of client: ClientNumber) throws(StoreError) {
    guard let number else { return }
    try checkIn.forget.run(client, number)
  }

}

/// The state of a client that checks in.
struct CheckInStanding {
  var client: ClientNumber
  var isFilled: Bool
  /// The last number that any ending has been given.
  var lastEnding: EndingNumber
  /// Whether there is anything up to the client's number that can be forgotten.
  var hasSeen: Bool
}

extension Reader {
  /// A client's state; nil if nothing from it was ever accepted.
  func checkInStanding(
    of name: String, seenThrough number: EndingNumber
  ) throws(StoreError) -> CheckInStanding? {
    try checkIn.standing.first(number, name) { row throws(StoreError) in
      CheckInStanding(
        client: row.client(0), isFilled: row.bool(1),
        lastEnding: try checkIn.lastEnding.one(or: "no ledger") { $0.int(0) },
        hasSeen: row.bool(2))
    }
  }

  /// The envelopes of a client among those that ended last and were not told to anybody.
  func recentlyEnded(of client: ClientNumber) throws(StoreError) -> [Serial] {
    try checkIn.recentlyEnded.rows(StoreTuning.firstCheckInLooksMax, client) { $0.int(0) }
  }

  /// The endings behind a number that a client has not been told yet.
  func endings(
    of client: ClientNumber, after number: EndingNumber, countMax: Int
  ) throws(StoreError) -> CheckInPage {
    let page = try checkIn.endings.page(
      client, number, countMax: countMax, read: ClientEnding.init(_:))
    return CheckInPage(
      endings: page.rows, toldThrough: page.rows.last?.number ?? number, hasMore: page.hasMore)
  }
}

extension ClientEnding {
  /// The ending in the present row.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    let id = try row.id(1)
    let fate = EnvelopeFate(
      id: id, serial: id.serial, state: try row.end(5), reason: row.text(8), endedAt: row.time(6),
      attemptCount: row.int32(7), responseStatus: row.optionalInt(9).map { Int($0) })
    self.init(
      number: row.int(0), fate: fate, lane: row.text(2) ?? "", key: row.text(3),
      sequence: row.optionalInt(4))
  }
}
