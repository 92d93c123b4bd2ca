/// The rules for an envelope's path and query: the one place that decides whether a request stays
/// within its upstream's base URL.
///
/// A target is appended to the base URL byte for byte. So it may hold nothing that ends the request
/// line, or that some server would read as a way out of the base (RFC 3986 section 5.2.4): see
/// ``PathReading``. It is checked when an envelope is accepted or corrected, when its references
/// have been filled, and again right before anything is sent.
package enum TargetSyntax {
  /// The most bytes of a path with its query.
  package static let bytesMax = 8192
  /// The same with what stands before it where it is handed on: another relay's route, and the
  /// upstream's name there.
  package static let handedOnBytesMax = bytesMax + 192

  /// The fault of a target, as the rest of a sentence about it; nil if it has none.
  ///
  /// - Parameter bytesMax: The most bytes that it may have.
  package static func refusal(
    of target: ArraySlice<UInt8>, bytesMax: Int = Self.bytesMax
  ) -> String? {
    guard target.first == UInt8(ascii: "/") else { return "has to begin with a slash" }
    guard target.count <= bytesMax else { return "may have \(bytesMax) bytes at the most" }
    var mayLeave = false
    for byte in target {
      switch byte {
      case UInt8(ascii: "%"), UInt8(ascii: "."): mayLeave = true
      case 0x21...0x22, 0x24...0x5B, 0x5D...0x7E: continue
      case UInt8(ascii: "#"): return "may have no fragment; write # as %23"
      case UInt8(ascii: "\\"): return "may have no backslash; write it as %5C"
      default: return "has to be visible ASCII; percent-encode the rest"
      }
    }
    // Most paths have neither a dot nor an escape, and of those only the beginning matters.
    guard mayLeave || target.dropFirst().first == UInt8(ascii: "/") else { return nil }
    return PathReading.refusal(of: target.prefix { $0 != UInt8(ascii: "?") })
  }
}
