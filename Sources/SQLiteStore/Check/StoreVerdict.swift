/// The result of a check of a store.
package struct StoreVerdict: Sendable {
  /// A kind of damage.
  package struct Finding: Sendable {
    /// A word for it, such as `line-without-envelope`.
    package var kind: String
    /// The number of cases.
    package var count: Int
    /// The first few: numbers, names, or SQLite's messages.
    package var examples: [String]
    /// The meaning, in a sentence.
    package var meaning: String
  }

  /// The number of examples of each kind that are shown.
  package static let examplesMax = 5

  /// The damage that was found; empty for a sound store.
  package internal(set) var findings: [Finding] = []
  /// The schema's version; 0 if it cannot be read.
  package internal(set) var schemaVersion: Int64 = 0
  /// The number of pages of the database.
  package internal(set) var pages = 0
  /// The size of a page.
  package internal(set) var pageBytes = 0
  /// The number of envelopes, if that can be read.
  package internal(set) var envelopes: Int64?
  /// The number of waiting envelopes, if that can be read.
  package internal(set) var waiting: Int64?
  /// The number of bodies in files of their own, if that can be read.
  package internal(set) var bodies: Int64?
  /// Whether a relay was running on it during the check.
  package internal(set) var isInUse = false

  /// Whether nothing is damaged.
  package var isSound: Bool { findings.isEmpty }

  /// The advice to the operator.
  package var advice: [String] {
    findings.allSatisfy { Self.changedKinds.contains($0.kind) }
      ? Self.changedAdvice : Self.damageAdvice
  }

  /// The findings for envelopes whose bytes have changed, where nothing else is damaged.
  static let changedKinds: Set = ["content-changed", "body-file-changed"]

  private static let changedAdvice = [
    "Everything else in the store is sound, and a salvage would keep them as they are. They are",
    "blocked once it is their turn. With the relay running, list them, and discard each, or put",
    "its body's file back and retry it:",
    "  waystation envelopes list --state blocked",
    "  waystation envelopes discard ID",
  ]

  private static let damageAdvice = [
    "Stop the relay, and copy the whole data folder away before anything else.",
    "If a backup is sound, start with a copy of it; otherwise run",
    "  waystation store salvage --data DIR --to NEWDIR",
    "and start the relay with NEWDIR. It names every loss, and never touches DIR.",
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
