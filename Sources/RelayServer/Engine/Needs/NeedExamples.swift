import JSON
import RelayCore

/// Envelopes that show what a need is about, with what the upstream said of them.
///
/// Each is read once, for as long as it is shown.
struct NeedExamples {
  /// The most that are shown.
  private static let countMax = 200

  private var known: [Serial: (example: Need.Example, since: WallTime?)] = [:]
  private var wanted: Set<Serial> = []

  /// Forgets which are shown; those that are not asked for again are dropped by ``drop()``.
  mutating func begin() { wanted = [] }

  /// Drops those that were not asked for since ``begin()``.
  mutating func drop() {
    for serial in known.keys where !wanted.contains(serial) { known[serial] = nil }
  }

  /// One envelope, and when its last attempt ended; nil if it is gone, or too many are shown.
  mutating func example(
    _ serial: Serial, from store: any EnvelopeStore
  ) async -> (example: Need.Example, since: WallTime?)? {
    guard wanted.count < Self.countMax else { return nil }
    wanted.insert(serial)
    if let example = known[serial] { return example }
    // One that cannot be read must not hide everything else.
    guard let id = try? await store.ids(of: [serial])[serial],
      let record = try? await store.envelope(id)
    else { return nil }
    let answer = try? await store.response(id)
    let last = record.attempts.last
    let example = Need.Example(
      id: id, lane: LaneName(client: record.draft.client, lane: record.draft.lane),
      words: answer.flatMap(UpstreamWords.find(in:)))
    let found = (example, last.map { $0.startedAt.adding(milliseconds: $0.durationMs) })
    known[serial] = found
    return found
  }
}

/// What an upstream said of an envelope, in a few words.
enum UpstreamWords {
  /// The members of a JSON answer that usually say it, the most telling first.
  private static let members: [StaticString] = ["detail", "title", "message", "error", "reason"]

  /// The words of an answer: a member of a JSON object, else the first line of a text; nil if there
  /// is neither.
  static func find(in answer: UpstreamResponse) -> String? {
    if let object = try? JSONValue.parse(answer.body).object() {
      for member in members {
        if let text = try? object[member]?.string(), let words = shortened(text) { return words }
      }
      return nil
    }
    guard let type = answer.headers.first("Content-Type"), type.hasPrefix("text/plain") else {
      return nil
    }
    return shortened(String(decoding: answer.body, as: UTF8.self))
  }

  /// The first line that says anything, without characters that do more than be displayed: it is
  /// shown among other words, on the page, in a terminal and in messages.
  private static func shortened(_ text: String) -> String? {
    let line = text.split(whereSeparator: \.isNewline).first ?? ""
    let shown = line.unicodeScalars.filter { !$0.isHostile }
    let words = String(String.UnicodeScalarView(shown)).prefix(NeedLimits.wordsMax)
    return words.allSatisfy(\.isWhitespace) ? nil : String(words)
  }
}
