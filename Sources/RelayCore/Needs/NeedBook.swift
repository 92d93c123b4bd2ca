/// The list of what needs somebody, with since when, and what has changed of it.
///
/// A pure value: it is told of facts, once in a while and whenever somebody asks.
package struct NeedBook: Sendable {
  /// A change of the list.
  package enum Change: Sendable, Equatable {
    /// It was not there before.
    case began(Need)
    /// It presses more, or less, than before.
    case changed(Need)
    /// It is over.
    case ended(Need)
  }

  /// What needs somebody, in the order of display.
  package private(set) var needs: [Need] = []
  private var growth = NeedGrowth()

  /// Knows nothing yet.
  package init() {}

  /// Takes in facts.
  ///
  /// - Returns: What has changed, in the order of display; what is over comes first.
  package mutating func update(_ facts: NeedFacts) -> [Change] {
    let before = Dictionary(needs.map { ($0.key, $0) }) { first, _ in first }
    needs = NeedRules(facts, growth: growth).needs().map { need in
      var need = need
      // Since when it has been so does not move while it lasts.
      if let known = before[need.key] { need.since = min(known.since, need.since) }
      return need
    }
    growth.note(facts)
    let keys = Set(needs.map(\.key))
    let ended = before.values.filter { !keys.contains($0.key) }.sorted { $0.title < $1.title }
    return ended.map(Change.ended)
      + needs.compactMap { need in
        guard let known = before[need.key] else { return .began(need) }
        return known.severity == need.severity ? nil : .changed(need)
      }
  }
}
