import JSON

/// A section of the configuration file: what its keys are.
protocol KeyedSection: Equatable {
  /// All keys, in the order in which they are read and written.
  static var keys: [Key] { get }

  /// Says whether keys that were read fit together; those of a whole configuration are seen to by
  /// ``Configuration/checkRelations(_:)``.
  func check(_ reader: SectionReader)
}

/// All that there is to know of one key of a section.
///
/// The file is read, and what is in force is written, by these records; a reload compares by them,
/// and the tables of `docs/configuration.md` are made of them (`make reference`).
struct ConfigurationKey<Section> {
  /// Its name in the file.
  let name: String
  /// Why a running relay cannot take up another value, as a sentence; nil if it can.
  let restart: String?
  /// Takes what the file says; a key that is absent leaves the section as it is.
  let read: (inout Section, inout SectionReader) -> Void
  /// Writes the member, if there is something to say.
  let write: (Section, inout JSONWriter) -> Void
  /// The keys that differ between two sections: the key itself, or keys inside its value.
  let differences: (_ new: Section, _ old: Section) -> [String]
  /// The rows of the reference, for a section with its defaults.
  let rows: (Section) -> [KeyRow]

  /// A key that holds one value.
  ///
  /// - Parameters:
  ///   - absent: What the reference shows where the default is no value.
  ///   - meaning: What the reference says of it.
  ///   - isRequired: Whether the section is nothing without it.
  ///   - isWritten: Whether a section has the key at all.
  init<Value: Equatable>(
    _ name: String, _ path: WritableKeyPath<Section, Value>, _ form: KeyForm<Value>,
    absent: String = "none", _ meaning: String, restart: String? = nil,
    isRequired: Bool = false, isWritten: @escaping (Section) -> Bool = { _ in true }
  ) {
    self.init(
      name, path, form.expected, absent: absent, meaning, restart: restart,
      isRequired: isRequired,
      read: { section, reader in
        if isRequired { reader.require(name, form.expected) }
        reader.read(name, into: &section[keyPath: path], expected: form.expected, form.read)
      },
      write: { section, json in
        let value = section[keyPath: path]
        guard isWritten(section), form.isWritten(value) else { return }
        json.member(name) { form.write(value, &$0) }
      })
  }

  /// A key that is read and written in a way of its own.
  ///
  /// - Parameters:
  ///   - values: What may stand there, as a part of a sentence.
  ///   - differences: By default the key, if it holds something else.
  init<Value: Equatable>(
    _ name: String, _ path: WritableKeyPath<Section, Value>, _ values: String,
    absent: String = "none", _ meaning: String, restart: String? = nil, isRequired: Bool = false,
    differences: ((_ new: Value, _ old: Value) -> [String])? = nil,
    read: @escaping (inout Section, inout SectionReader) -> Void,
    write: @escaping (Section, inout JSONWriter) -> Void
  ) {
    self.name = name
    self.restart = restart
    self.read = read
    self.write = write
    self.differences = { new, old in
      let (new, old) = (new[keyPath: path], old[keyPath: path])
      return new == old ? [] : differences?(new, old) ?? [name]
    }
    rows = { section in
      var json = JSONWriter()
      json.object { write(section, &$0) }
      let text = String(decoding: json.finish().dropFirst().dropLast(), as: UTF8.self)
      let value = text.drop { $0 != ":" }.dropFirst()
      return [
        KeyRow(
          path: name, values: values.hasSuffix(",") ? String(values.dropLast()) : values,
          default: isRequired ? "required" : KeyRow.shown(value) ?? absent, meaning: meaning)
      ]
    }
  }

  /// A section within the section.
  ///
  /// - Parameter meaning: What the reference says of it as a whole, if its keys have a table of
  ///   their own.
  init<Inner: KeyedSection>(
    section name: String, _ path: WritableKeyPath<Section, Inner>, _ meaning: String? = nil,
    restart: String? = nil, isWritten: @escaping (Section) -> Bool = { _ in true }
  ) {
    self.name = name
    self.restart = restart
    read = { section, reader in
      reader.section(name) { $0.read(into: &section[keyPath: path]) }
    }
    write = { section, json in
      guard isWritten(section) else { return }
      json.memberObject(name) { section[keyPath: path].writeMembers(to: &$0) }
    }
    differences = { $0[keyPath: path] == $1[keyPath: path] ? [] : [name] }
    rows = { section in
      if let meaning {
        [KeyRow(path: name, values: "an object", default: "see below", meaning: meaning)]
      } else {
        section[keyPath: path].rows(below: name)
      }
    }
  }

  /// A section that may be missing, and is not written then.
  ///
  /// - Parameter empty: The section before anything is read.
  init<Inner: KeyedSection>(
    section name: String, _ path: WritableKeyPath<Section, Inner?>, from empty: Inner
  ) {
    self.name = name
    restart = nil
    read = { section, reader in
      reader.section(name) { inner in
        var value = empty
        inner.read(into: &value)
        section[keyPath: path] = value
      }
    }
    write = { section, json in
      guard let value = section[keyPath: path] else { return }
      json.memberObject(name) { value.writeMembers(to: &$0) }
    }
    differences = { $0[keyPath: path] == $1[keyPath: path] ? [] : [name] }
    rows = { _ in empty.rows(below: name) }
  }
}

extension KeyedSection {
  /// One of its keys.
  typealias Key = ConfigurationKey<Self>

  func check(_ reader: SectionReader) {}

  /// Writes all members, in the file's own form.
  func writeMembers(to json: inout JSONWriter) {
    for key in Self.keys { key.write(self, &json) }
  }

  /// The rows of the reference, for a section with its defaults.
  func rows(below path: String? = nil) -> [KeyRow] {
    Self.keys.flatMap { key in
      key.rows(self).map { row in
        var row = row
        if let path { row.path = "\(path).\(row.path)" }
        if key.restart != nil { row.meaning += KeyRow.restart }
        return row
      }
    }
  }
}

extension SectionReader {
  /// Reads all keys of a section.
  mutating func read<Section: KeyedSection>(into section: inout Section) {
    for key in Section.keys { key.read(&section, &self) }
    section.check(self)
  }
}

/// Makes a list of keys of the records that stand one below the other.
///
/// Each is checked by itself, which keeps long lists quick to compile.
@resultBuilder
enum KeyList {
  static func buildExpression<Section>(
    _ key: ConfigurationKey<Section>
  ) -> ConfigurationKey<Section> { key }

  static func buildBlock<Section>(
    _ keys: ConfigurationKey<Section>...
  ) -> [ConfigurationKey<Section>] { keys }
}
