import RelayCore

/// How the vocabulary's words are written in the database. Fixed for good.
extension EnvelopeState {
  /// The four ends in the order of their codes and of the ledger's columns.
  static let ends: [EnvelopeState] = [.delivered, .failed, .expired, .cancelled]

  /// The code of an end, from 1; nil for a state that is none.
  var endCode: Int64? { Self.ends.firstIndex(of: self).map { Int64($0 + 1) } }

  /// The end of this code.
  init(endCode: Int64) throws(StoreError) {
    guard (1...4).contains(endCode) else { throw .senseless("state \(endCode)") }
    self = Self.ends[Int(endCode - 1)]
  }
}

extension Standing {
  /// The standing of this code.
  init(code: Int64) throws(StoreError) {
    guard let value = UInt8(exactly: code), let standing = Standing(rawValue: value) else {
      throw .senseless("standing \(code)")
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
    default: throw .senseless("outcome \(code)")
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

  /// Takes the sixteen bytes that ``bytes`` gave.
  init(stored bytes: [UInt8]) throws(StoreError) {
    guard bytes.count == 16 else { throw .senseless("an id of \(bytes.count) bytes") }
    func word(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: word(0..<8), low: word(8..<16))
  }
}

extension HeaderBlock {
  /// Takes a block as it was stored.
  init(trusted bytes: [UInt8]) throws(StoreError) {
    guard let block = HeaderBlock(stored: bytes) else { throw .senseless("a header block") }
    self = block
  }
}

extension StoreError {
  /// A value was read that this program never writes.
  static func senseless(_ what: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "read", subject: "the store",
      detail: "it holds \(what), which makes no sense. \(corruptAdvice)")
  }
}

extension WallTime {
  /// The time that lies this many milliseconds after the Unix epoch, or none.
  init?(_ milliseconds: Int64?) {
    guard let milliseconds else { return nil }
    self.init(millisecondsSinceEpoch: milliseconds)
  }
}
