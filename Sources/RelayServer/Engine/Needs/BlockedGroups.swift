import RelayCore

/// The blocked lanes, told apart by upstream, status and reason.
///
/// A look costs as many reads as lanes have become blocked since the last one, be it anew. The
/// first ``lanesMax`` lanes are told apart, and the others only counted.
struct BlockedGroups {
  /// The most lanes that are told apart.
  static let lanesMax = 10_000
  /// The most lanes that are read of in one go.
  private static let readsMax = 500

  /// The reason that the lanes of a group share.
  fileprivate struct Cause: Hashable {
    var upstream: String
    var status: Int?
    var reason: String
  }

  /// A group.
  typealias Group = (upstream: String, status: Int?, reason: String, count: Int, first: Serial)

  /// The heads of lanes, by the reason that they stand.
  private var causes: [Serial: Cause] = [:]
  /// The groups that come first, so that each stays among them for as long as it lasts.
  private var shown: Set<Cause> = []

  /// Takes in the lanes that are blocked now, and reads of those that are new or have changed.
  ///
  /// - Parameter store: The store; nil while it cannot be asked.
  mutating func update(
    _ lanes: [(lane: LaneNumber, head: LineEntry)], besides changed: ChangedHeads,
    from store: (any EnvelopeStore)?
  ) async {
    changed.forget(in: &causes)
    let now = Set(lanes.lazy.map(\.head.serial))
    for serial in causes.keys where !now.contains(serial) { causes[serial] = nil }
    let unknown = now.filter { causes[$0] == nil }.sorted()
    for start in stride(from: 0, to: unknown.count, by: Self.readsMax) {
      let part = Array(unknown[start..<min(start + Self.readsMax, unknown.count)])
      // What cannot be read now is asked for by the next look.
      guard let store, let ids = try? await store.ids(of: part),
        let summaries = try? await store.summaries(of: part.compactMap { ids[$0] })
      else { return }
      for summary in summaries { causes[summary.fate.serial] = Cause(summary) }
    }
  }

  /// The groups, each with its first head: first so many that come first for as long as they last,
  /// then the largest.
  mutating func groups(shownMax: Int) -> [Group] {
    var groups: [Cause: (count: Int, first: Serial)] = [:]
    for (serial, cause) in causes {
      let known = groups[cause] ?? (0, serial)
      groups[cause] = (known.count + 1, min(known.first, serial))
    }
    let sorted = groups.sorted {
      ($1.value.count, $0.value.first) < ($0.value.count, $1.value.first)
    }
    let known = sorted.filter { shown.contains($0.key) }
    let fresh = sorted.filter { !shown.contains($0.key) }
    shown = Set((known + fresh).prefix(shownMax).map(\.key))
    return (sorted.filter { shown.contains($0.key) } + sorted.filter { !shown.contains($0.key) })
      .map { ($0.upstream, $0.status, $0.reason, $1.count, $1.first) }
  }
}

extension BlockedGroups.Cause {
  /// The status of the kept answer counts only if the envelope stands for that answer: it may be an
  /// earlier attempt's.
  fileprivate init(_ summary: EnvelopeSummary) {
    upstream = summary.terms.upstream
    reason = summary.fate.reason ?? "the upstream refused it"
    let answered = summary.fate.responseStatus
    status = answered.map(AttemptReport.sentence(ofAnswer:)) == reason ? answered : nil
  }
}
