/// How many things need somebody, by kind and by how much they press.
package struct NeedCounts: Sendable, Equatable {
  private struct Place: Hashable, Sendable {
    var kind: NeedKind
    var severity: NeedSeverity
  }

  private var counts: [Place: Int] = [:]

  /// Nothing.
  package init() {}

  /// The number of those of a kind that press so much.
  package subscript(kind: NeedKind, severity: NeedSeverity) -> Int {
    counts[Place(kind: kind, severity: severity)] ?? 0
  }

  fileprivate mutating func count(_ need: Need) {
    counts[Place(kind: need.key.kind, severity: need.severity), default: 0] += 1
  }
}

/// Which of all needs are listed.
///
/// The list is bounded for each kind, so that no kind hides another. A need that is listed stays so
/// for as long as it lasts: whoever compares two lists sees nothing begin or end that does not.
struct NeedSelection {
  /// Those that are listed, in their order; the last one of a kind says how many are left out.
  private(set) var needs: [Need] = []
  /// The number of all, of those that are left out as well.
  private(set) var counts = NeedCounts()

  /// Chooses.
  ///
  /// - Parameters:
  ///   - all: All needs, in the order of display.
  ///   - listed: Those that were listed before.
  init(of all: [Need], besides listed: Set<Need.Key>) {
    var places: [NeedKind: [Int]] = [:]
    for (place, need) in all.enumerated() {
      counts.count(need)
      places[need.key.kind, default: []].append(place)
    }
    var chosen = Array(repeating: true, count: all.count)
    var more: [Int: Int] = [:]
    for places in places.values where places.count > NeedLimits.listedOfKindMax {
      let kept = Self.chosen(among: places, of: all, besides: listed)
      for place in places where !kept.contains(place) { chosen[place] = false }
      if let last = kept.max() { more[last] = places.count - kept.count }
    }
    for (place, need) in all.enumerated() where chosen[place] {
      var need = need
      need.more = more[place] ?? 0
      needs.append(need)
    }
  }

  /// Chooses among those of one kind: first those that are listed, then the critical ones, for
  /// which there is as much room again.
  private static func chosen(
    among places: [Int], of all: [Need], besides listed: Set<Need.Key>
  ) -> Set<Int> {
    var chosen = Set(
      places.filter { listed.contains(all[$0].key) || all[$0].key.isOnlyOne })
    let max = NeedLimits.listedOfKindMax
    var criticals = chosen.count { all[$0].severity == .critical }
    for place in places where all[place].severity == .critical && !chosen.contains(place) {
      guard criticals < max, chosen.count < 2 * max else { break }
      chosen.insert(place)
      criticals += 1
    }
    for place in places where all[place].severity == .warning && !chosen.contains(place) {
      guard chosen.count < max else { break }
      chosen.insert(place)
    }
    return chosen
  }
}

extension Need.Key {
  /// Whether there is one of its kind that is about no upstream, and nothing else in particular.
  fileprivate var isOnlyOne: Bool { upstream == nil && subject.isEmpty }
}
