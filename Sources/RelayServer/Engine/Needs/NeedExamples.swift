import RelayCore

/// Envelopes that show what a need is about, with what the upstream said of them.
///
/// Each is read once, for as long as it is shown and nothing becomes of it.
struct NeedExamples {
  /// The most that are shown.
  private static let countMax = 200

  /// What is known of one.
  private struct Known {
    var example: Need.Example
    /// When its last attempt ended.
    var since: WallTime?
    /// The status of the answer that the words are of.
    var status: Int?
    /// The time of what it is to show; nil if that is known by ``ChangedHeads``.
    var at: WallTime?
  }

  private var known: [Serial: Known] = [:]
  private var wanted: Set<Serial> = []

  /// Forgets which are shown, and what has changed; those that are not asked for again are dropped
  /// by ``drop()``.
  mutating func begin(besides changed: ChangedHeads) {
    wanted = []
    changed.forget(in: &known)
  }

  /// Drops those that were not asked for since ``begin()``.
  mutating func drop() {
    for serial in known.keys where !wanted.contains(serial) { known[serial] = nil }
  }

  /// One envelope, and when its last attempt ended; nil if it is gone, or too many are shown.
  ///
  /// - Parameters:
  ///   - at: When that happened which it is to show: what was read for something else does not do.
  ///     Nil if it heads a blocked lane.
  ///   - status: The status that the upstream answered then. Words of another answer are left out.
  ///   - store: The store; nil while it cannot be asked.
  mutating func example(
    _ serial: Serial, at: WallTime? = nil, status: Int?, from store: (any EnvelopeStore)?
  ) async -> (example: Need.Example, since: WallTime?)? {
    guard wanted.count < Self.countMax || wanted.contains(serial) else { return nil }
    wanted.insert(serial)
    var found = known[serial].flatMap { at == nil || $0.at == at ? $0 : nil }
    if found == nil, let store {
      found = await read(serial, from: store)
      found?.at = at
      known[serial] = found
    }
    guard var found else { return nil }
    if status == nil || found.status != status { found.example.words = nil }
    return (found.example, found.since)
  }

  private func read(_ serial: Serial, from store: any EnvelopeStore) async -> Known? {
    // One that cannot be read must not hide everything else.
    guard let id = try? await store.ids(of: [serial])[serial],
      let record = try? await store.envelope(id)
    else { return nil }
    let answer = try? await store.response(id)
    let last = record.attempts.last
    return Known(
      example: Need.Example(
        id: id, lane: LaneName(client: record.draft.client, lane: record.draft.lane),
        words: answer.flatMap(UpstreamWords.find(in:)) ?? last?.words),
      since: last.map { $0.startedAt.adding(milliseconds: $0.durationMs) },
      status: answer?.status ?? last?.status)
  }
}
