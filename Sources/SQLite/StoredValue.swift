/// A value in a record of the database.
@usableFromInline
package enum StoredValue: Hashable {
  /// NULL.
  case null
  /// An integer.
  case integer(Int64)
  /// Text.
  case text(String)
  /// Bytes.
  case blob([UInt8])

  /// The integer; nil for anything else.
  package var integer: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The text; nil for anything else.
  package var text: String? {
    if case .text(let value) = self { value } else { nil }
  }

  /// The bytes; nil for anything else.
  package var blob: [UInt8]? {
    if case .blob(let value) = self { value } else { nil }
  }
}
