import RelayCore
import SQLite

extension WallTime: BindableInteger {
  /// The integer.
  package var code: Int64 { millisecondsSinceEpoch }
}

extension ClientNumber: BindableInteger {
  /// The integer.
  package var code: Int64 { rawValue }
}

extension LaneNumber: BindableInteger {
  /// The integer.
  package var code: Int64 { rawValue }
}

extension UpstreamNumber: BindableInteger {
  /// The integer.
  package var code: Int64 { Int64(rawValue) }
}

extension Standing: BindableInteger {
  /// The integer.
  package var code: Int64 { Int64(rawValue) }
}

extension FailurePolicy: BindableInteger {}
extension Outcome: BindableInteger {}

extension EnvelopeID: Bindable {
  /// Binds the value.
  package func bind(to statement: borrowing Statement, at index: Int32) {
    statement.bind(index, bytes)
  }
}

extension Statement {
  /// Reads the row for these values.
  ///
  /// - Parameter what: What a store without such a row holds.
  /// - Throws: ``StoreError/Kind/corrupt`` if there is none.
  func one<A: Bindable, B: Bindable, Row>(
    _ a: A = Unbound(), _ b: B = Unbound(), or what: String,
    read: (borrowing Statement) throws(StoreError) -> Row
  ) throws(StoreError) -> Row {
    guard let row = try first(a, b, read: read) else { throw .invalidRow(what) }
    return row
  }

  // MARK: - The values in the columns of the present row

  /// A time.
  func time(_ column: Int32) -> WallTime { WallTime(millisecondsSinceEpoch: int(column)) }

  /// A time; nil for NULL.
  func optionalTime(_ column: Int32) -> WallTime? {
    optionalInt(column).map { WallTime(millisecondsSinceEpoch: $0) }
  }

  /// A client's number.
  func client(_ column: Int32) -> ClientNumber { ClientNumber(rawValue: int(column)) }

  /// A lane's number.
  func lane(_ column: Int32) -> LaneNumber { LaneNumber(rawValue: int(column)) }

  /// An upstream's number.
  func upstream(_ column: Int32) -> UpstreamNumber { UpstreamNumber(rawValue: int32(column)) }

  /// An envelope's standing.
  func standing(_ column: Int32) throws(StoreError) -> Standing {
    try Standing(code: int(column))
  }

  /// An envelope's end.
  func end(_ column: Int32) throws(StoreError) -> EnvelopeState {
    try EnvelopeState(endCode: int(column))
  }

  /// What becomes of a lane when an envelope is refused.
  func failurePolicy(_ column: Int32) -> FailurePolicy { FailurePolicy(code: int(column)) }

  /// An envelope's id.
  func id(_ column: Int32) throws(StoreError) -> EnvelopeID {
    try EnvelopeID(stored: bytes(column))
  }

  /// A block of header fields.
  func headers(_ column: Int32) throws(StoreError) -> HeaderBlock {
    try HeaderBlock(trusted: bytes(column))
  }
}
