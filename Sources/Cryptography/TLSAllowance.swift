/// How much one session may take in until others have their turn, and how much of it for nothing.
///
/// OpenSSL goes on within one call for as long as bytes come that bring no data, and a peer can
/// send those for ever: changes of keys, warnings, empty records, refused renegotiations.
struct TLSAllowance: Equatable {
  /// The most bytes that are received in a turn.
  static let bytesMax = 65_536
  /// With so many records taken, no more is read in a turn: small ones cost more than their bytes.
  static let recordsMax = 128
  /// The most records in a row that bring no data, once the handshake is complete.
  ///
  /// An honest peer changes its keys after millions of records (RFC 8446 section 5.5), and warns
  /// of its end alone.
  static let emptyRecordsMax = 32

  private(set) var bytesLeft = bytesMax
  private var recordsLeft = recordsMax
  /// How many have begun since the last data: it is the one before that has shown to be empty.
  private var recordsSinceData = 0
  private var isConnected = false

  /// Whether something may still be read in this turn.
  var isLeft: Bool { bytesLeft > 0 && recordsLeft > 0 }

  /// Whether the peer has sent too much that brings nothing.
  var isOverdrawn: Bool { recordsSinceData > Self.emptyRecordsMax + 1 }

  /// A new turn begins.
  mutating func beginTurn() {
    bytesLeft = Self.bytesMax
    recordsLeft = Self.recordsMax
  }

  /// The handshake is complete: from now on records are to bring data.
  mutating func connect() { isConnected = true }

  /// So many bytes were received, no more than ``bytesLeft``.
  mutating func take(bytes count: Int) { bytesLeft -= count }

  /// A record has begun.
  mutating func takeRecord() {
    recordsLeft -= 1
    if isConnected { recordsSinceData += 1 }
  }

  /// The last record has brought data.
  mutating func noteData() { recordsSinceData = 0 }
}
