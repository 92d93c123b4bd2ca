/// Header fields that concern one connection only, and end at a relay (RFC 9110 section 7.6.1).
package enum ConnectionField {
  /// Whether fields of this name are hop-by-hop, whatever `Connection` lists.
  @inlinable
  package static func isOne(_ name: Span<UInt8>) -> Bool {
    switch name.count {
    case 2: FieldSyntax.equals(name, "te")
    case 7: FieldSyntax.equals(name, "trailer") || FieldSyntax.equals(name, "upgrade")
    case 10: FieldSyntax.equals(name, "connection") || FieldSyntax.equals(name, "keep-alive")
    case 16: FieldSyntax.equals(name, "proxy-connection")
    case 17: FieldSyntax.equals(name, "transfer-encoding")
    case 18: FieldSyntax.equals(name, "proxy-authenticate")
    case 19: FieldSyntax.equals(name, "proxy-authorization")
    default: false
    }
  }

  /// Whether fields of a name in an array are hop-by-hop.
  @inlinable
  package static func isOne(_ name: ArraySlice<UInt8>) -> Bool { isOne(name.span) }

  /// Whether no sender gives a field of this name, since the relay writes it: what concerns a
  /// connection (RFC 9110 section 7.6.1), a message's frame or its way, and the relay's own.
  package static func isWrittenByRelay(_ name: ArraySlice<UInt8>) -> Bool {
    isOne(name) || FieldSyntax.equals(name, "Host") || FieldSyntax.equals(name, "Content-Length")
      || FieldSyntax.equals(name, "Via") || FieldSyntax.hasPrefix(name, "Waystation-")
  }

  /// What stands before the name of a field that a relay is not to take for itself, but to give to
  /// the upstream without this.
  package static let carryingPrefix: StaticString = "Waystation-Field-"

  /// The names that a `Connection` field's value lists.
  package static func names(in value: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    value.split(separator: UInt8(ascii: ",")).map(FieldSyntax.trimmingWhitespace)
  }
}
