/// Paths and queries that an envelope may ask its upstream for.
///
/// They go behind the upstream's base URL byte for byte, so nothing may stand in them that a server
/// would read as a way out of that base (RFC 3986 section 5.2.4), or that some read as a slash.
enum TargetSyntax {
  /// The most bytes of a path with its query.
  static let bytesMax = 8192

  /// What is wrong with a target, as the rest of a sentence about it; nil if it is fine.
  static func refusal(of target: ArraySlice<UInt8>) -> String? {
    guard target.first == slash else { return "has to begin with a slash" }
    guard target.count <= bytesMax else { return "may have \(bytesMax) bytes at the most" }
    for byte in target {
      switch byte {
      case 0x21...0x22, 0x24...0x5B, 0x5D...0x7E: continue
      case UInt8(ascii: "#"): return "may have no fragment; write # as %23"
      case UInt8(ascii: "\\"): return "may have no backslash; write it as %5C"
      default: return "has to be visible ASCII; percent-encode the rest"
      }
    }
    if hasDotSegment(target) { return "may have no \".\" or \"..\" segment, encoded or not" }
    return nil
  }

  /// Whether a segment of the path is `.` or `..`.
  ///
  /// Servers differ in what they undo before they look for these: percent-encoding, encoded slashes
  /// and backslashes, parameters behind a semicolon. So all of it is undone here.
  private static func hasDotSegment(_ target: ArraySlice<UInt8>) -> Bool {
    var segment = Segment()
    var index = target.startIndex
    while index < target.endIndex, target[index] != UInt8(ascii: "?") {
      let (byte, next) = PercentEncoding.decodedByte(of: target, at: index)
      index = next
      if byte == slash || byte == UInt8(ascii: "\\") {
        if segment.isDots { return true }
        segment = Segment()
      } else {
        segment.add(byte)
      }
    }
    return segment.isDots
  }

  /// What has been seen of one segment.
  private struct Segment {
    private var dots = 0
    private var hasOthers = false
    private var hasParameters = false

    var isDots: Bool { !hasOthers && (dots == 1 || dots == 2) }

    mutating func add(_ byte: UInt8) {
      if hasParameters { return }
      switch byte {
      case UInt8(ascii: "."): dots += 1
      case UInt8(ascii: ";"): hasParameters = true
      default: hasOthers = true
      }
    }
  }

  private static let slash = UInt8(ascii: "/")
}
