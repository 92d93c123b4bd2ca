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
    /// It has lasted for another day.
    case lasted(Need)
  }

  /// The time after which what lasts is told once more, in milliseconds.
  static let reminderMs: Int64 = 24 * 3_600_000

  /// What needs somebody, in the order of display, as far as it is listed; see ``NeedSelection``.
  package private(set) var needs: [Need] = []
  /// How many things need somebody, those included that are not listed.
  package private(set) var counts = NeedCounts()
  private var growth = NeedGrowth()
  /// When each of them was told last.
  private var toldAt: [Need.Key: WallTime] = [:]

  /// Knows nothing yet.
  package init() {}

  /// Takes in facts.
  ///
  /// - Returns: What has changed of what is listed, in the order of display; what is over comes
  ///   first.
  package mutating func update(_ facts: NeedFacts) -> [Change] {
    let before = Dictionary(needs.map { ($0.key, $0) }) { first, _ in first }
    let selection = NeedSelection(
      of: NeedRules(facts, growth: growth).needs(), besides: Set(before.keys))
    counts = selection.counts
    needs = selection.needs.map { need in
      var need = need
      // Since when it has been so does not move while it lasts.
      if let known = before[need.key] { need.since = min(known.since, need.since) }
      return need
    }
    growth.note(facts)
    let keys = Set(needs.map(\.key))
    let ended = before.values.filter { !keys.contains($0.key) }.sorted { $0.title < $1.title }
    let changes =
      ended.map(Change.ended) + needs.compactMap { change($0, before[$0.key], facts.now) }
    for change in changes {
      switch change {
      case .began(let need), .changed(let need), .lasted(let need): toldAt[need.key] = facts.now
      case .ended(let need): toldAt[need.key] = nil
      }
    }
    return changes
  }

  private func change(_ need: Need, _ known: Need?, _ now: WallTime) -> Change? {
    guard let known else { return .began(need) }
    guard known.severity == need.severity else { return .changed(need) }
    guard let told = toldAt[need.key], now.milliseconds(since: told) >= Self.reminderMs else {
      return nil
    }
    return .lasted(need)
  }
}
