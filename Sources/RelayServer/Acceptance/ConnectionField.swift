import RelayCore

/// Header fields that concern one connection only (RFC 9110 section 7.6.1).
enum ConnectionField {
  /// Whether a field of this name is one of them, whatever `Connection` says.
  static func isOne(_ name: ArraySlice<UInt8>) -> Bool {
    switch name.count {
    case 2: FieldSyntax.equals(name, "TE")
    case 7: FieldSyntax.equals(name, "Trailer") || FieldSyntax.equals(name, "Upgrade")
    case 10: FieldSyntax.equals(name, "Connection") || FieldSyntax.equals(name, "Keep-Alive")
    case 16: FieldSyntax.equals(name, "Proxy-Connection")
    case 17: FieldSyntax.equals(name, "Transfer-Encoding")
    case 18: FieldSyntax.equals(name, "Proxy-Authenticate")
    case 19: FieldSyntax.equals(name, "Proxy-Authorization")
    default: false
    }
  }

  /// The names that a `Connection` field's value lists.
  static func names(in value: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    value.split(separator: UInt8(ascii: ",")).map(FieldSyntax.trimmingWhitespace)
  }
}
