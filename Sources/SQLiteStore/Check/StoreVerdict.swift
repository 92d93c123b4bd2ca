/// What a check of a store found.
package struct StoreVerdict: Sendable {
  /// One kind of damage.
  package struct Finding: Sendable {
    /// A word for it: `line-without-envelope`.
    package var kind: String
    /// How many there are.
    package var count: Int
    /// The first few: numbers, names, or what SQLite says.
    package var examples: [String]
    /// What that means, in a sentence.
    package var meaning: String
  }

  /// How many examples of each kind are shown.
  package static let examplesMax = 5

  /// The damage that was found; empty for a store that is sound.
  package internal(set) var findings: [Finding] = []
  /// The schema's version; 0 if it cannot be read.
  package internal(set) var schemaVersion: Int64 = 0
  /// How many pages the database has, and of how many bytes.
  package internal(set) var pages = 0
  /// The size of a page.
  package internal(set) var pageBytes = 0
  /// How many envelopes it holds, if that can be read.
  package internal(set) var envelopes: Int64?
  /// How many of them wait, if that can be read.
  package internal(set) var waiting: Int64?
  /// How many bodies are in files of their own, if that can be read.
  package internal(set) var bodies: Int64?
  /// Whether a relay was running on it meanwhile.
  package internal(set) var isInUse = false

  /// Whether nothing is damaged.
  package var isSound: Bool { findings.isEmpty }

  /// What to do about a damaged store.
  package static let advice = [
    "Stop the relay, and copy the whole data folder away before anything else.",
    "If the copy of a backup is sound, start with that; else run",
    "  waystation store salvage --data DIR --to NEWDIR",
    "and start the relay with NEWDIR. It names all that is lost, and never touches DIR.",
    "To go on with an empty store at once, and to salvage later, start the relay with",
    "  waystation serve --set-aside-damaged",
    "which moves the damaged store into DIR/damaged-TIME and deletes nothing.",
  ]

  mutating func add(_ kind: String, _ meaning: String, _ examples: [String], count: Int? = nil) {
    let count = count ?? examples.count
    guard count > 0 else { return }
    findings.append(
      Finding(
        kind: kind, count: count, examples: Array(examples.prefix(Self.examplesMax)),
        meaning: meaning))
  }
}
