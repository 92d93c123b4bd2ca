/// Values for names, and for all names that begin alike.
///
/// A pattern is a name, or the beginning of names with `*` behind it; `*` alone stands for every
/// name. For one name one pattern counts, and counts alone: the name itself if it is there, else
/// the longest beginning. So what is looked up does not depend on the order of the patterns.
package struct NamePatterns<Value: Hashable & Sendable>: Hashable, Sendable {
  /// A pattern and what it stands for.
  package struct Entry: Hashable, Sendable {
    /// A name, or a beginning and `*`.
    package let pattern: String
    /// What it stands for.
    package let value: Value

    /// Pairs them.
    package init(pattern: String, value: Value) {
      self.pattern = pattern
      self.value = value
    }
  }

  /// All of them, in the order they were named.
  package let entries: [Entry]
  private let exact: [String: Value]
  /// The longest beginning first.
  private let beginnings: [Entry]

  /// A table of these patterns.
  ///
  /// - Precondition: ``isPattern(_:)`` of each, and none is there twice.
  package init(_ entries: [Entry] = []) {
    self.entries = entries
    isEmpty = entries.isEmpty
    let isBeginning = { (entry: Entry) in entry.pattern.utf8.last == Self.wildcard }
    exact = Dictionary(
      uniqueKeysWithValues: entries.filter { !isBeginning($0) }.map { ($0.pattern, $0.value) })
    beginnings = entries.filter(isBeginning)
      .map { Entry(pattern: String($0.pattern.dropLast()), value: $0.value) }
      .sorted { $0.pattern.utf8.count > $1.pattern.utf8.count }
  }

  /// Whether nothing is configured for any name, as is usual.
  ///
  /// What is asked with every post asks this first: a look-up from another target, which has to ask
  /// the runtime for the types of a generic, costs as much as reading a head.
  package let isEmpty: Bool

  /// What counts for a name; nil if no pattern fits.
  package subscript(name: String) -> Value? {
    guard !isEmpty else { return nil }
    if let value = exact[name] { return value }
    return beginnings.first { name.utf8.starts(with: $0.pattern.utf8) }?.value
  }

  /// Whether a text is a pattern: not empty, and without `*` but at its end.
  package static func isPattern(_ text: String) -> Bool {
    guard let last = text.utf8.lastIndex(where: { _ in true }) else { return false }
    return text.utf8.firstIndex(of: wildcard).map { $0 == last } ?? true
  }

  private static var wildcard: UInt8 { UInt8(ascii: "*") }
}
