import RelayCore
import SQLite

extension EnvelopeState {
  /// The ledger's columns for ends, in the order of the codes.
  static let endColumns = ends.map(\.rawValue)

  /// The end of this code.
  init(endCode: Int64) throws(StoreError) {
    guard let end = Self.end(ofCode: endCode) else { throw .invalidRow("state \(endCode)") }
    self = end
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

extension Outcome {
  /// The outcome of this code.
  init(code: Int64) throws(StoreError) {
    guard let outcome = Self.of(code: code) else { throw .invalidRow("outcome \(code)") }
    self = outcome
  }
}

extension EnvelopeID {
  /// The id as it is stored.
  init(stored bytes: [UInt8]) throws(StoreError) {
    guard let id = EnvelopeID(bytes: bytes) else {
      throw .invalidRow("an id of \(bytes.count) bytes")
    }
    self = id
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

extension EnvelopeID {
  /// The number that this store accepted the envelope under: the order of acceptance.
  var serial: Serial { Serial(low >> 22 & 0xFF_FFFF_FFFF) }
}
