/// The amount that one session may receive until others have their turn, and how many records
/// without data it may receive.
///
/// Within one call OpenSSL goes on as long as records without data come, and a peer can send those
/// for ever: key updates, warnings, empty records, refused renegotiations.
struct TLSAllowance: Equatable {
  /// The most bytes that are received in a turn.
  static let bytesMax = 65_536
  /// The number of records after which no more is read in a turn: small ones cost more than their
  /// bytes.
  static let recordsMax = 128
  /// The most records in a row that bring no data, once the handshake is complete.
  ///
  /// An honest peer changes its keys after millions of records (RFC 8446 section 5.5), and sends a
  /// warning only at its end.
  static let emptyRecordsMax = 32

  private(set) var bytesLeft = bytesMax
  private var recordsLeft = recordsMax
  /// The number of records begun since the last data; a record is known to be empty only once the
  /// next one begins.
  private var recordsSinceData = 0
  private var isConnected = false

  /// Whether more may be read in this turn.
  var isLeft: Bool { bytesLeft > 0 && recordsLeft > 0 }

  /// Whether the peer has sent too many records without data.
  var isOverdrawn: Bool { recordsSinceData > Self.emptyRecordsMax + 1 }

  /// Begins a new turn.
  mutating func beginTurn() {
    bytesLeft = Self.bytesMax
    recordsLeft = Self.recordsMax
  }

  /// Notes that the handshake is complete: from now on records have to bring data.
  mutating func connect() { isConnected = true }

  /// Notes received bytes, no more than ``bytesLeft``.
  mutating func take(bytes count: Int) { bytesLeft -= count }

  /// Notes that a record has begun.
  mutating func takeRecord() {
    recordsLeft -= 1
    if isConnected { recordsSinceData += 1 }
  }

  /// Notes that the last record has brought data.
  mutating func noteData() { recordsSinceData = 0 }
}
