/// The trace that a request belongs to, by its `traceparent` (W3C Trace Context, section 3.2).
package enum TraceParent {
  private static let textBytesMin = 55
  private static let idRange = 3..<35
  private static let parentRange = 36..<52
  private static let flagsRange = 53..<55

  /// Whether a block has the field, well formed or not.
  package static func isPresent(in headers: HeaderBlock) -> Bool {
    headers.contains { $0.isNamed("traceparent") }
  }

  /// The trace's id: 32 hexadecimal digits in lower case; nil if there is no field, more than one,
  /// or one that is not well formed.
  package static func traceID(in headers: HeaderBlock) -> String? {
    value(in: headers).flatMap { traceID(of: Array($0)) }
  }

  /// The trace's id in a field's value.
  package static func traceID(of value: [UInt8]) -> String? {
    isWellFormed(value) ? String(decoding: value[idRange], as: UTF8.self) : nil
  }

  /// Everything that the field says; nil under the same conditions.
  package static func context(in headers: HeaderBlock) -> TraceContext? {
    value(in: headers).flatMap { context(of: Array($0)) }
  }

  /// Everything that a field's value says.
  package static func context(of value: [UInt8]) -> TraceContext? {
    guard isWellFormed(value) else { return nil }
    let isKnownVersion = value[..<2].elementsEqual("00".utf8)
    let flags = UInt8(truncatingIfNeeded: number(value[flagsRange]))
    return TraceContext(
      trace: TraceID(
        high: number(value[idRange.prefix(16)]), low: number(value[idRange.suffix(16)])),
      parent: SpanID(rawValue: number(value[parentRange])),
      // Of later versions only this flag is known (section 4.2).
      flags: isKnownVersion ? flags : flags & TraceContext.sampledFlag)
  }

  private static func value(in headers: HeaderBlock) -> ArraySlice<UInt8>? {
    var found: ArraySlice<UInt8>?
    for field in headers where field.isNamed("traceparent") {
      guard found == nil else { return nil }
      found = field.value
    }
    return found
  }

  private static func isWellFormed(_ value: [UInt8]) -> Bool {
    guard value.count >= textBytesMin, value[2] == dash, value[35] == dash, value[52] == dash,
      value[..<2].allSatisfy(isDigit), value[flagsRange].allSatisfy(isDigit),
      isID(value[idRange]), isID(value[parentRange])
    else { return false }
    // A later version may add more after another dash; version 00 may not, and ff is no version.
    let version = value[..<2]
    guard !version.elementsEqual("ff".utf8) else { return false }
    guard value.count > textBytesMin else { return true }
    return !version.elementsEqual("00".utf8) && value[textBytesMin] == dash
  }

  private static let dash = UInt8(ascii: "-")

  private static func isID(_ digits: ArraySlice<UInt8>) -> Bool {
    digits.allSatisfy(isDigit) && digits.contains { $0 != UInt8(ascii: "0") }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }

  /// The value of at most sixteen hexadecimal digits.
  private static func number(_ digits: ArraySlice<UInt8>) -> UInt64 {
    digits.reduce(0) { $0 << 4 | UInt64($1 < 0x61 ? $1 - 0x30 : $1 - 0x61 + 10) }
  }
}

/// A trace: sixteen bytes, not all of them zero.
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes, in network order.
  package let high: UInt64
  /// The last eight bytes.
  package let low: UInt64

  /// Takes the sixteen bytes as two numbers.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// 32 hexadecimal digits in lower case.
  package var description: String { HexDigits.text(of: high) + HexDigits.text(of: low) }

  /// Whether a sampled share of all traces includes this one.
  ///
  /// Every relay and collector that decides by the last 56 bits comes to the same result (W3C Trace
  /// Context level 2, section 3.2.2.5).
  package func isWithin(share: Double) -> Bool {
    Double(low & 0x00FF_FFFF_FFFF_FFFF) < share * 72_057_594_037_927_936
  }
}

/// A span of a trace: eight bytes, not all of them zero.
package struct SpanID: Hashable, Sendable, CustomStringConvertible {
  /// The eight bytes, in network order.
  package let rawValue: UInt64

  /// Takes the eight bytes as a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// 16 hexadecimal digits in lower case.
  package var description: String { HexDigits.text(of: rawValue) }
}

/// A request's place in a trace, as its `traceparent` says it.
package struct TraceContext: Hashable, Sendable {
  /// The trace.
  package var trace: TraceID
  /// The span that the request belongs to.
  package var parent: SpanID
  /// The flags, of which ``sampledFlag`` is one.
  package var flags: UInt8

  /// The flag that whoever began or passed on the trace may have recorded it.
  package static let sampledFlag: UInt8 = 1

  /// Puts the parts together.
  package init(trace: TraceID, parent: SpanID, flags: UInt8) {
    self.trace = trace
    self.parent = parent
    self.flags = flags
  }

  /// Whether its spans are to be recorded.
  package var isSampled: Bool { flags & Self.sampledFlag != 0 }

  /// The value of a `traceparent`, in version 00.
  package var fieldValue: String { "00-\(trace)-\(parent)-\(HexDigits.text(of: flags))" }
}

/// Numbers as hexadecimal digits, all of them.
private enum HexDigits {
  static func text(of value: some FixedWidthInteger) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: value.bitWidth / 4 - digits.count) + digits
  }
}
