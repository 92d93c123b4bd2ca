import JSON

/// Reads one object of a configuration file: takes known keys, complains of all others.
///
/// A problem leaves the value it would have set as it was, and reading goes on, so that every
/// problem of a file is found in one go.
struct SectionReader {
  /// The keys on the way here, joined by dots; empty for the file itself.
  let path: String
  let problems: ProblemCollector
  /// The variables and files that texts may name.
  let secrets: SecretSources
  private let members: [(name: String, value: JSONValue)]
  /// The members by their names: a section may have a hundred thousand of them.
  private let values: [String: JSONValue]
  private var known: [String] = []

  /// The section that `value` holds; nil, with a problem noted, if it is no object.
  init?(
    _ value: JSONValue, path: String, problems: ProblemCollector, secrets: SecretSources
  ) {
    self.path = path
    self.problems = problems
    self.secrets = secrets
    guard let object = try? value.object() else {
      problems.add(path, expected: "an object", found: value.shown)
      return nil
    }
    members = object.map { ($0.name.string, $0.value) }
    values = Dictionary(
      members.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// A section within this one.
  func inner(_ value: JSONValue, path: String) -> SectionReader? {
    SectionReader(value, path: path, problems: problems, secrets: secrets)
  }

  /// All members, for sections whose keys are names that the user chose.
  var all: [(name: String, value: JSONValue)] { members }

  /// The path of a key of this section; one that could be misread is quoted.
  func path(of key: String) -> String {
    let plain = key.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ".") }
    let shown = plain && !key.isEmpty ? key : JSONWriter.quoted(key)
    return path.isEmpty ? shown : "\(path).\(shown)"
  }

  /// The value of `key`, which is known from now on; nil if it is absent.
  mutating func value(_ key: String) -> JSONValue? {
    known.append(key)
    return values[key]
  }

  /// Sets `target` to what `read` makes of the value; nil from it means that it is not `expected`.
  mutating func read<Value>(
    _ key: String, into target: inout Value, expected: String,
    _ read: (JSONValue) -> Value?
  ) {
    guard let value = value(key) else { return }
    guard let new = read(value) else {
      problems.add(path(of: key), expected: expected, found: value.shown)
      return
    }
    target = new
  }

  /// Whether the section has a key.
  func has(_ key: String) -> Bool { values[key] != nil }

  /// Complains if the section does not have a key.
  func require(_ key: String, _ expected: String) {
    if !has(key) { problems.add(path(of: key), expected: expected, found: "nothing") }
  }

  /// Whether nothing is wrong with what a key says.
  func isFine(_ key: String) -> Bool {
    let path = path(of: key)
    return !problems.problems.contains { $0.key == path }
  }

  /// A section of its own, if there is one.
  mutating func section(_ key: String, _ read: (inout SectionReader) -> Void) {
    guard let value = value(key),
      var section = inner(value, path: path(of: key))
    else { return }
    read(&section)
    section.finish()
  }

  /// Complains of every key that nothing asked for, with the one that was probably meant.
  func finish() {
    let names = Set(known)
    for member in members where !names.contains(member.name) {
      let guess = NearestWord.find(member.name, in: known)
      problems.add(
        path(of: member.name), "unknown key" + (guess.map { "; did you mean \"\($0)\"?" } ?? ""))
    }
  }
}

extension RawRepresentable<String> where Self: CaseIterable {
  /// The words to choose from, as a part of a sentence: `"skip" or "block"`.
  static var choices: String {
    let words = allCases.map { "\"\($0.rawValue)\"" }
    return words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
  }
}

extension JSONValue {
  /// The value as it can be shown in a sentence: in full if it is short.
  var shown: String {
    let shownBytesMax = 80
    return raw.count <= shownBytesMax
      ? String(decoding: raw, as: UTF8.self) : "\(kind.inWords) of \(raw.count) bytes"
  }
}

extension JSONWriter {
  /// `text` in quotes, escaped.
  static func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return String(decoding: writer.finish(), as: UTF8.self)
  }
}
