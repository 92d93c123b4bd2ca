import JSON

/// The form of a key's values in the file.
struct KeyForm<Value> {
  /// The allowed values, as a part of a sentence: the type, and its bounds.
  let expected: String
  /// The value that the file's JSON stands for; nil if it is not what is expected.
  let read: (JSONValue) -> Value?
  /// Writes a value as the file has it.
  let write: (Value, inout JSONWriter) -> Void
  /// Whether a value is written at all.
  var isWritten: (Value) -> Bool = { _ in true }
}

extension KeyForm where Value: FixedWidthInteger {
  /// A whole number in `range`.
  static func integer(_ range: ClosedRange<Value>) -> KeyForm {
    KeyForm(
      expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
      read: { value in
        (try? value.int64()).flatMap(Value.init(exactly:)).flatMap {
          range.contains($0) ? $0 : nil
        }
      },
      write: { $1.integer($0) })
  }
}

extension KeyForm<Int64> {
  /// A time in whole seconds that is kept in milliseconds.
  static func seconds(_ range: ClosedRange<Int>) -> KeyForm {
    let form = KeyForm<Int>.integer(range)
    return KeyForm(
      expected: form.expected, read: { form.read($0).map { Int64($0) * 1000 } },
      write: { $1.integer($0 / 1000) })
  }
}

extension KeyForm<Double> {
  /// A number in `range`.
  static func number(_ range: ClosedRange<Double>) -> KeyForm {
    KeyForm(
      expected: "a number from \(range.lowerBound) to \(range.upperBound)",
      read: { value in (try? value.double()).flatMap { range.contains($0) ? $0 : nil } },
      write: { $1.double($0) })
  }
}

extension KeyForm<Bool> {
  /// `true` or `false`.
  static var flag: KeyForm {
    KeyForm(expected: "true or false", read: { try? $0.bool() }, write: { $1.bool($0) })
  }
}

extension KeyForm where Value: RawRepresentable<String> & CaseIterable {
  /// One of the words of an enumeration.
  static var word: KeyForm {
    KeyForm(
      expected: Value.choices, read: { (try? $0.string()).flatMap(Value.init) },
      write: { $1.string($0.rawValue) })
  }
}

extension KeyForm<String> {
  /// A text that fits.
  static func text(_ expected: String, _ fits: @escaping (String) -> Bool) -> KeyForm {
    KeyForm(
      expected: expected, read: { (try? $0.string()).flatMap { fits($0) ? $0 : nil } },
      write: { $1.string($0) })
  }

  /// The path of a file or folder.
  static func path(_ expected: String) -> KeyForm {
    text(expected) { !$0.isEmpty && !$0.utf8.contains(0) }
  }
}

extension KeyForm where Value: CustomStringConvertible {
  /// A text that stands for a value, and that the value's description gives back.
  static func described(_ expected: String, _ read: @escaping (String) -> Value?) -> KeyForm {
    KeyForm(
      expected: expected, read: { (try? $0.string()).flatMap(read) },
      write: { $1.string($0.description) })
  }
}

extension KeyForm {
  /// An array of texts, each of which stands for a value.
  static func list<Element: CustomStringConvertible>(
    _ expected: String, _ read: @escaping (String) -> Element?
  ) -> KeyForm where Value == [Element] {
    KeyForm(
      expected: expected,
      read: { value in
        guard let texts = (try? value.array()).map(Array.init) else { return nil }
        let elements = texts.compactMap { (try? $0.string()).flatMap(read) }
        return elements.count == texts.count ? elements : nil
      },
      write: { elements, json in
        json.array { json in for element in elements { json.string(element.description) } }
      })
  }

  /// A value of another form, or `null` for none.
  ///
  /// - Parameter expected: What may stand there, unless it is the form's and `null`.
  static func optional<Wrapped>(
    _ form: KeyForm<Wrapped>, expected: String? = nil
  ) -> KeyForm where Value == Wrapped? {
    KeyForm(
      expected: expected ?? "\(form.expected), or null",
      read: { $0.isNull ? .some(nil) : form.read($0).map(Value.some) },
      write: { if let value = $0 { form.write(value, &$1) } else { $1.null() } })
  }

  /// A value of another form, where no key stands for no value.
  ///
  /// - Parameter showsNull: Whether no value is written as `null`, rather than not at all.
  static func unlessAbsent<Wrapped>(
    _ form: KeyForm<Wrapped>, showsNull: Bool = false
  ) -> KeyForm where Value == Wrapped? {
    KeyForm(
      expected: form.expected, read: { form.read($0).map(Value.some) },
      write: { if let value = $0 { form.write(value, &$1) } else { $1.null() } },
      isWritten: { showsNull || $0 != nil })
  }
}
