import RelayCore

/// The codes of the vocabulary's words in the database.
///
/// Fixed for good.
extension EnvelopeState {
  /// The ends in the order of their codes.
  static let ends = allCases.filter(\.isEnd).sorted { ($0.endCode ?? 0) < ($1.endCode ?? 0) }

  /// The code of an end, from 1 without a gap; nil if the state is no end.
  var endCode: Int64? {
    switch self {
    case .delivered: 1
    case .failed: 2
    case .expired: 3
    case .cancelled: 4
    case .held, .queued, .parked, .delivering, .blocked: nil
    }
  }

  /// The ledger's columns for ends, in the order of the codes.
  static let endColumns = ends.map(\.rawValue)

  /// The end of this code.
  init(endCode: Int64) throws(StoreError) {
    guard Self.isEndCode(endCode) else { throw .invalidRow("state \(endCode)") }
    self = Self.ends[Int(endCode - 1)]
  }
}

extension Standing {
  /// The ledger's columns for what waits, in the order of the codes, which begin at 0 and have no
  /// gap.
  static let columns = allCases.map(\.state.rawValue)

  /// The standing of this code.
  init(code: Int64) throws(StoreError) {
    guard let value = UInt8(exactly: code), let standing = Standing(rawValue: value) else {
      throw .invalidRow("standing \(code)")
    }
    self = standing
  }
}

extension FailurePolicy {
  /// The policy's code.
  var code: Int64 { self == .skip ? 0 : 1 }

  /// The policy of this code.
  init(code: Int64) { self = code == 0 ? .skip : .block }
}

extension Outcome {
  /// The outcome's code.
  var code: Int64 {
    switch self {
    case .delivered: 0
    case .unreachable: 1
    case .refused: 2
    case .ambiguous: 3
    }
  }

  /// The outcome of this code.
  init(code: Int64) throws(StoreError) {
    switch code {
    case 0: self = .delivered
    case 1: self = .unreachable
    case 2: self = .refused
    case 3: self = .ambiguous
    default: throw .invalidRow("outcome \(code)")
    }
  }
}

extension EnvelopeID {
  /// The sixteen bytes in network order.
  var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      for index in 0..<8 {
        buffer[index] = UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * index))
        buffer[index + 8] = UInt8(truncatingIfNeeded: low >> UInt64(56 - 8 * index))
      }
      count = 16
    }
  }

  /// Restores an id from ``bytes``.
  init(stored bytes: [UInt8]) throws(StoreError) {
    guard bytes.count == 16 else { throw .invalidRow("an id of \(bytes.count) bytes") }
    func word(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: word(0..<8), low: word(8..<16))
  }
}

extension HeaderBlock {
  /// Restores a stored block.
  init(trusted bytes: [UInt8]) throws(StoreError) {
    guard let block = HeaderBlock(stored: bytes) else { throw .invalidRow("a header block") }
    self = block
  }
}

extension StoreError {
  /// The error for a stored value that this program never writes.
  static func invalidRow(_ what: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "read", subject: "the store",
      detail: "it holds \(what), which makes no sense. \(corruptAdvice)")
  }

  /// The error for content whose bytes have changed since it was accepted.
  static func changed(_ what: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "read", subject: "the store",
      detail: "bytes of \(what) have changed since it was accepted. It is not sent: discard it, "
        + "or, where its body's file was changed, put that back and retry it.")
  }
}

extension WallTime {
  /// The time this many milliseconds after the Unix epoch; nil for nil.
  init?(_ milliseconds: Int64?) {
    guard let milliseconds else { return nil }
    self.init(millisecondsSinceEpoch: milliseconds)
  }
}

/// The codes of event kinds in the database.
///
/// Fixed for good.
extension EventKind {
  /// The kind's code, from 1; the next new kind takes the next number.
  var code: UInt8 {
    switch self {
    case .accepted: 1
    case .attempted: 2
    case .blocked: 3
    case .delivered: 4
    case .failed: 5
    case .expired: 6
    case .cancelled: 7
    case .released: 8
    case .edited: 9
    case .requeued: 10
    case .paused: 11
    case .resumed: 12
    case .unreachable: 13
    case .reachable: 14
    case .started: 15
    case .placed: 16
    case .gapSkipped: 17
    case .coalesced: 20
    }
  }

  private static let byCode: [UInt8: EventKind] = Dictionary(
    uniqueKeysWithValues: allCases.map { ($0.code, $0) })

  /// The kind of this code; nil for one that this program does not know.
  init?(code: UInt8) {
    guard let kind = Self.byCode[code] else { return nil }
    self = kind
  }
}

extension EnvelopeID {
  /// The number that this store accepted the envelope under: the order of acceptance.
  var serial: Serial { Serial(low >> 22 & 0xFF_FFFF_FFFF) }
}
