/// Values for names, and for all names with a common beginning.
///
/// A pattern is a name, or the beginning of names followed by `*`; `*` alone matches every name.
/// Exactly one pattern applies to a name: the name itself if it is a pattern, else the longest
/// matching beginning. So the result does not depend on the order of the patterns.
package struct NamePatterns<Value: Hashable & Sendable>: Hashable, Sendable {
  /// A pattern and its value.
  package struct Entry: Hashable, Sendable {
    /// A name, or a beginning and `*`.
    package let pattern: String
    /// The value.
    package let value: Value

    /// Pairs them.
    package init(pattern: String, value: Value) {
      self.pattern = pattern
      self.value = value
    }
  }

  /// All patterns, in the order in which they were given.
  package let entries: [Entry]
  private let exact: [String: Value]
  /// The patterns with `*`, the longest beginning first.
  private let beginnings: [Entry]

  /// Makes a table of these patterns.
  ///
  /// - Precondition: Each meets ``isPattern(_:)``, and none is there twice.
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

  /// Whether there are no patterns, as is usual.
  ///
  /// Every post checks this first. A look-up from another target has to ask the runtime for the
  /// types of a generic, and costs as much as reading a head.
  package let isEmpty: Bool

  /// The value for a name; nil if no pattern matches.
  package subscript(name: String) -> Value? {
    guard !isEmpty else { return nil }
    if let value = exact[name] { return value }
    return beginnings.first { name.utf8.starts(with: $0.pattern.utf8) }?.value
  }

  /// Whether a text is a pattern: not empty, and without `*` except at its end.
  package static func isPattern(_ text: String) -> Bool {
    guard let last = text.utf8.lastIndex(where: { _ in true }) else { return false }
    return text.utf8.firstIndex(of: wildcard).map { $0 == last } ?? true
  }

  private static var wildcard: UInt8 { UInt8(ascii: "*") }
}
