import JSON
import RelayCore

/// A thing by which envelopes are selected: a parameter of a list, and a member of the filter of an
/// operation.
///
/// The states are read where it is known which of them make sense.
struct SelectionField: Sendable {
  /// Its name in a query and in a filter.
  let name: String
  /// The allowed values, as a part of a sentence.
  let rule: String
  /// Takes a value of a filter; false if it is none.
  let takeJSON: @Sendable (JSONValue, inout EnvelopeSelection) -> Bool
  /// Takes a value of a query; false if it is none.
  let takeText: @Sendable (String, inout EnvelopeSelection) -> Bool
  /// The value as a query says it; nil if the selection has none.
  let text: @Sendable (EnvelopeSelection) -> String?
  /// Writes the value as a member; nothing if the selection has none.
  let write: @Sendable (EnvelopeSelection, inout JSONWriter) -> Void

  private init<Value: Sendable>(
    _ name: String, _ value: any WritableKeyPath<EnvelopeSelection, Value?> & Sendable,
    _ form: TermForm<Value>, text: @escaping @Sendable (Value) -> String,
    write: (@Sendable (Value, inout JSONWriter) -> Void)? = nil
  ) {
    self.name = name
    rule = form.rule
    takeJSON = { json, selection in
      selection[keyPath: value] = form.json(json)
      return selection[keyPath: value] != nil
    }
    takeText = { text, selection in
      selection[keyPath: value] = form.text(Array(text.utf8)[...])
      return selection[keyPath: value] != nil
    }
    self.text = { $0[keyPath: value].map(text) }
    self.write = { selection, json in
      guard let value = selection[keyPath: value] else { return }
      if let write { write(value, &json) } else { json.member(name, text(value)) }
    }
  }

  private init(
    _ name: String, _ value: any WritableKeyPath<EnvelopeSelection, String?> & Sendable,
    _ form: TermForm<String> = .name
  ) {
    self.init(name, value, form, text: { $0 })
  }

  private init(
    time name: String, _ value: any WritableKeyPath<EnvelopeSelection, WallTime?> & Sendable
  ) {
    self.init(name, value, .time, text: { RFC3339.format($0) })
  }

  /// All of them, in the order in which they are shown.
  static let all: [SelectionField] = [
    SelectionField("client", \.client), SelectionField("lane", \.lane),
    SelectionField("upstream", \.upstream), SelectionField("tag", \.tag),
    SelectionField(time: "acceptedSince", \.accepted.since),
    SelectionField(time: "acceptedUntil", \.accepted.until),
    SelectionField(time: "endedSince", \.ended.since),
    SelectionField(time: "endedUntil", \.ended.until),
    SelectionField(
      "status", \.status, .status, text: { String($0) }, write: { $1.member("status", $0) }),
    SelectionField("reason", \.reason, .words), SelectionField("errorId", \.errorID, .words),
    SelectionField(
      "discarded", \.isDiscarded, .flag, text: { "\($0)" }, write: { $1.member("discarded", $0) }),
  ]

  /// Their names.
  static let names = all.map(\.name)

  /// The one of a name; nil for any other name.
  static func named(_ name: String) -> SelectionField? { all.first { $0.name == name } }
}

/// The limits of what selects envelopes.
enum SelectionLimits {
  /// The most bytes of a part of a reason, or of the name of an error.
  static let wordsBytesMax = 1024
}

extension EnvelopeSelection {
  /// The selection as a query says it, with the states behind all else.
  var words: String {
    let parts = SelectionField.all.compactMap { field in
      field.text(self).map { "\(field.name)=\($0)" }
    }
    return (parts + ["state=\(stateWords)"]).joined(separator: "&")
  }

  /// Writes its members, with the states behind all else.
  func writeMembers(to json: inout JSONWriter) {
    for field in SelectionField.all { field.write(self, &json) }
    json.member("state", stateWords)
  }
}

extension TermForm<Int> {
  /// The status of an upstream's answer.
  fileprivate static var status: TermForm {
    let range: ClosedRange<Int64> = 100...599
    return TermForm(
      rule: "a status code, from 100 to 599",
      json: { value in value.wholeNumber.flatMap { range.contains($0) ? Int($0) : nil } },
      text: { text in
        guard text.count == 3, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let value = text.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
        return range.contains(value) ? Int(value) : nil
      })
  }
}

extension TermForm<String> {
  /// Words of any kind, on one line.
  fileprivate static var words: TermForm {
    let bytesMax = SelectionLimits.wordsBytesMax
    @Sendable func isOne(_ text: ArraySlice<UInt8>) -> Bool {
      !text.isEmpty && text.count <= bytesMax && !text.contains { $0 < 0x20 || $0 == 0x7f }
    }
    return TermForm(
      rule: "a text of 1 to \(bytesMax) bytes without control characters",
      json: { value in
        guard let text = try? value.string(), isOne(Array(text.utf8)[...]) else { return nil }
        return text
      },
      text: { text in
        guard isOne(text) else { return nil }
        return String(validating: text, as: UTF8.self)
      })
  }
}
