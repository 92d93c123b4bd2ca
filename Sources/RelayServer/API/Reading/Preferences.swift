import RelayCore

/// The preferences of a request (RFC 7240) that the relay heeds.
package struct Preferences: Sendable, Equatable {
  /// Whether a batch is to be taken whole or not at all: `handling=strict` (section 4.4).
  package private(set) var isStrict = false
  /// The time to wait for the upstream's answer, in seconds: `wait=N` (section 4.3), not limited
  /// yet; nil if the request does not ask for it, or N is no number.
  package private(set) var waitSeconds: Int?

  /// Whether receipts are wanted for what is stored: `receipt`.
  package private(set) var wantsReceipt = false

  private var hasHandling = false
  private var hasWait = false

  /// No preferences.
  package init() {}

  /// Reads the values of all `Prefer` fields, in order.
  ///
  /// Names are taken in any case, values also in quotes, parameters are not looked at, and of a
  /// preference that is given twice the first counts (section 2). What makes no sense is passed
  /// over: preferences are wishes, not orders.
  package init(_ values: [ArraySlice<UInt8>]) {
    for value in values {
      for element in PreferenceElement.elements(of: value) { take(element) }
    }
  }

  private mutating func take(_ element: PreferenceElement) {
    if FieldSyntax.equals(element.name, "handling"), !hasHandling {
      hasHandling = true
      isStrict = FieldSyntax.equals(element.value[...], "strict")
    } else if FieldSyntax.equals(element.name, "wait"), !hasWait {
      hasWait = true
      waitSeconds = Self.seconds(element.value)
    } else if FieldSyntax.equals(element.name, "receipt") {
      wantsReceipt = true
    }
  }

  /// A number of seconds; one that is longer than any wait is held at a day.
  private static func seconds(_ digits: [UInt8]) -> Int? {
    guard !digits.isEmpty else { return nil }
    var seconds = 0
    for digit in digits {
      guard digit &- 0x30 < 10 else { return nil }
      seconds = min(seconds * 10 + Int(digit - 0x30), 86_400)
    }
    return seconds
  }
}

/// One preference in a `Prefer` field, with its place there.
struct PreferenceElement {
  /// The name as it was written.
  let name: ArraySlice<UInt8>
  /// The value without its quotes; empty if there is none.
  let value: [UInt8]
  /// The whole of it, parameters included, without the white space around it.
  let raw: ArraySlice<UInt8>

  /// The elements of one field's value; empty ones left out.
  static func elements(of field: ArraySlice<UInt8>) -> [PreferenceElement] {
    split(field, at: UInt8(ascii: ",")).compactMap { PreferenceElement($0) }
  }

  /// A `Prefer` field's value without the preferences called `name`: nil if nothing is left of it,
  /// and byte for byte as it came if there was none of that name.
  static func removing(
    _ name: StaticString, from field: ArraySlice<UInt8>
  ) -> ArraySlice<UInt8>? {
    let elements = elements(of: field)
    let kept = elements.filter { !FieldSyntax.equals($0.name, name) }
    if kept.count == elements.count { return field }
    return kept.isEmpty ? nil : Array(kept.map(\.raw).joined(separator: [0x2C, 0x20]))[...]
  }

  private init?(_ element: ArraySlice<UInt8>) {
    raw = FieldSyntax.trimmingWhitespace(element)
    guard !raw.isEmpty else { return nil }
    let preference = Self.split(raw, at: UInt8(ascii: ";"))[0]
    let equals = preference.firstIndex(of: UInt8(ascii: "=")) ?? preference.endIndex
    name = FieldSyntax.trimmingWhitespace(preference[..<equals])
    value = Self.unquoted(FieldSyntax.trimmingWhitespace(preference[equals...].dropFirst()))
  }

  /// Cuts at each `separator` that stands outside of quotes.
  private static func split(
    _ text: ArraySlice<UInt8>, at separator: UInt8
  ) -> [ArraySlice<UInt8>] {
    var parts: [ArraySlice<UInt8>] = []
    var start = text.startIndex
    var isQuoted = false
    var index = start
    while index < text.endIndex {
      switch text[index] {
      case UInt8(ascii: "\""): isQuoted.toggle()
      // A quoted pair (RFC 9110 section 5.6.4).
      case UInt8(ascii: "\\") where isQuoted: index += 1
      case separator where !isQuoted:
        parts.append(text[start..<index])
        start = index + 1
      default: break
      }
      index += 1
    }
    parts.append(text[start...])
    return parts
  }

  private static func unquoted(_ text: ArraySlice<UInt8>) -> [UInt8] {
    let quote = UInt8(ascii: "\"")
    guard text.count >= 2, text.first == quote, text.last == quote else { return Array(text) }
    var value: [UInt8] = []
    var isEscaped = false
    for byte in text.dropFirst().dropLast() {
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      if !isEscaped { value.append(byte) }
    }
    return value
  }
}
