import JSON
import RelayCore

/// The form of a term's value, in JSON and in a header field.
struct TermForm<Value: Sendable>: Sendable {
  /// The allowed values, as a part of a sentence.
  let rule: String
  /// The value that JSON stands for; nil if it is none.
  let json: @Sendable (JSONValue) -> Value?
  /// The value that a header field's text stands for; nil if it is none.
  let text: @Sendable (ArraySlice<UInt8>) -> Value?
}

extension TermForm<String> {
  /// A name that senders choose.
  static var name: TermForm {
    TermForm(
      rule: NameSyntax.rule,
      json: { value in
        guard let name = try? value.string(), NameSyntax.isName(Array(name.utf8)[...]) else {
          return nil
        }
        return name
      },
      text: { NameSyntax.isName($0) ? String(decoding: $0, as: UTF8.self) : nil })
  }
}

extension TermForm<Int64> {
  /// A sender's own number; to JSON Schema, 1.0 is a whole one, and some senders write all so.
  static var sequence: TermForm {
    TermForm(
      rule: SequenceSyntax.rule,
      json: { value in
        value.wholeNumber.flatMap { SequenceSyntax.range.contains($0) ? $0 : nil }
      },
      text: { SequenceSyntax.parse($0) })
  }
}

extension TermForm<Bool> {
  /// `true` or `false`.
  static var flag: TermForm {
    TermForm(
      rule: "true or false",
      json: { $0.kind == .boolean ? $0.raw.first == UInt8(ascii: "t") : nil },
      text: { text in
        if text.elementsEqual("true".utf8) { return true }
        return text.elementsEqual("false".utf8) ? false : nil
      })
  }
}

extension TermForm<WallTime> {
  /// A time of RFC 3339.
  static var time: TermForm {
    TermForm(
      rule: "a time of RFC 3339, such as 2026-03-01T12:00:00Z",
      json: { (try? $0.utf8()).flatMap { RFC3339.parse($0) } },
      text: { RFC3339.parse($0) })
  }
}

extension TermForm<FailurePolicy> {
  /// One of the policies.
  static var policy: TermForm {
    TermForm(
      rule: FailurePolicy.choices,
      json: { (try? $0.string()).flatMap { FailurePolicy(rawValue: $0) } },
      text: { FailurePolicy(rawValue: String(decoding: $0, as: UTF8.self)) })
  }
}
