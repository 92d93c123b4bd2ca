import RelayCore
import SQLite

/// The one row of counts, as it stands in the transaction under way.
struct Ledger: Equatable {
  /// Counts by a code.
  ///
  /// There is room for more than are used: how many those are, the vocabulary says.
  typealias Counts = InlineArray<8, Int64>

  /// The greatest serial ever given out.
  ///
  /// Kept apart from the rows, which may be deleted.
  var lastSerial: Serial = 0
  /// The latest time at which anything was accepted or attempted, in the column
  /// `last_accepted_at`: a clock that shows an earlier one has been set back.
  var latestTime: Int64 = 0
  /// Waiting envelopes by ``Standing``'s code.
  var standing = Counts(repeating: 0)
  /// Ended envelopes by their state's code less one.
  var ended = Counts(repeating: 0)
  /// Bytes of bodies, headers and targets.
  var contentBytes: Int64 = 0
  /// Those of them that are in files of their own.
  var fileBytes: Int64 = 0

  /// The number of the last ending that was kept to be told.
  var lastEnding: EndingNumber = 0

  /// The number of known clients and lanes.
  var names = NameCounts()
  /// The greatest numbers ever given to a client and to a lane: also of such as are forgotten.
  var lastClient: Int64 = 0
  var lastLane: Int64 = 0

  /// The numbers and names that have been given out, for the rules of appending.
  var given: GivenNumbers {
    var given = GivenNumbers()
    given.lastSerial = lastSerial
    given.lastClient = lastClient
    given.lastLane = lastLane
    given.names = names
    given.latestTime = WallTime(millisecondsSinceEpoch: latestTime)
    return given
  }

  static func == (left: Ledger, right: Ledger) -> Bool {
    left.lastSerial == right.lastSerial && left.latestTime == right.latestTime
      && left.lastEnding == right.lastEnding && left.names == right.names
      && left.lastClient == right.lastClient && left.lastLane == right.lastLane
      && left.contentBytes == right.contentBytes && left.fileBytes == right.fileBytes
      && left.standing.indices.allSatisfy { left.standing[$0] == right.standing[$0] }
      && left.ended.indices.allSatisfy { left.ended[$0] == right.ended[$0] }
  }

  /// Changes the count of a standing.
  mutating func add(_ difference: Int64, standing place: Standing) {
    standing[Int(place.rawValue)] += difference
  }

  /// Changes the count of an end.
  mutating func add(_ difference: Int64, endCode: Int64) {
    ended[Int(endCode - 1)] += difference
  }

  /// The counts by state.
  var envelopes: [EnvelopeState: Int64] {
    var counts: [EnvelopeState: Int64] = [:]
    for place in Standing.allCases { counts[place.state] = standing[Int(place.rawValue)] }
    for (index, state) in EnvelopeState.ends.enumerated() { counts[state] = ended[index] }
    return counts
  }
}

extension Ledger {
  /// The columns in the order that ``init(reading:)`` and ``write(to:)`` use.
  private static let columns =
    ["last_serial", "last_accepted_at"] + Standing.columns + EnvelopeState.endColumns + [
      "content_bytes", "file_bytes", "last_ending", "clients", "lanes", "last_client", "last_lane",
    ]

  private static let selection =
    "SELECT \(columns.joined(separator: ", ")) FROM ledger WHERE number = 1"

  /// The statement that ``write(to:)`` runs.
  static let update =
    "UPDATE ledger SET \(columns.map { "\($0) = ?" }.joined(separator: ", ")) WHERE number = 1"

  /// Reads the row.
  init(reading connection: borrowing Connection) throws(StoreError) {
    let statement = try Statement(Self.selection, on: connection)
    guard try statement.step() else { throw .invalidRow("no ledger") }
    lastSerial = statement.int(0)
    latestTime = statement.int(1)
    var place: Int32 = 2
    for code in Standing.columns.indices {
      standing[code] = statement.int(place)
      place += 1
    }
    for end in EnvelopeState.endColumns.indices {
      ended[end] = statement.int(place)
      place += 1
    }
    contentBytes = statement.int(place)
    fileBytes = statement.int(place + 1)
    lastEnding = statement.int(place + 2)
    names.clients = statement.int(place + 3)
    names.lanes = statement.int(place + 4)
    lastClient = statement.int(place + 5)
    lastLane = statement.int(place + 6)
  }

  /// Writes the row.
  func write(to statement: borrowing Statement) throws(StoreError) {
    // A parameter's number is one more than its column's place.
    statement.set(lastSerial, latestTime)
    var number: Int32 = 3
    for code in Standing.columns.indices {
      statement.bind(number, standing[code])
      number += 1
    }
    for end in EnvelopeState.endColumns.indices {
      statement.bind(number, ended[end])
      number += 1
    }
    statement.bind(number, contentBytes)
    statement.bind(number + 1, fileBytes)
    statement.bind(number + 2, lastEnding)
    statement.bind(number + 3, names.clients)
    statement.bind(number + 4, names.lanes)
    statement.bind(number + 5, lastClient)
    statement.bind(number + 6, lastLane)
    try statement.run()
  }
}
