import JSON
import RelayCore

/// An envelope's state and story for its reader (`EnvelopeView` and `EnvelopeSummary` in
/// `openapi.yaml`).
///
/// Its headers and its body are not: they may hold secrets.
package struct EnvelopeView: Sendable {
  /// What keeps a queued envelope waiting, with the id of the one before it.
  package struct Hindrance: Sendable {
    var cause: RelayCore.Hindrance.Cause
    /// The envelope that heads its lane; nil if that is itself, or has just ended.
    var behind: EnvelopeID?
  }

  private let summary: EnvelopeSummary
  /// nil where only what went wrong last is shown.
  private let attempts: [AttemptRecord]?
  /// The sequence numbers that it waits for; a list does not tell them.
  private var missing = MissingNumbers.none
  private let state: EnvelopeState
  private let position: Int?
  private let now: WallTime
  /// The progress of the attempt under way; nil if there is none, or its progress is not known.
  package var progress: AttemptProgress?
  /// The trace that it belongs to; a list does not tell it.
  package var trace: String?
  /// The id of the envelope that it is a copy of, made by a replay; a list does not tell it.
  private var replayOf: String?
  /// What keeps it waiting, if it is queued.
  package var hindrance: Hindrance?
  /// What the upstream said when it refused the envelope; nil if it did not, or said nothing.
  package var error: ErrorDocument?

  /// Shows a record, with its attempts.
  ///
  /// - Parameters:
  ///   - isInFlight: Whether an attempt is under way, which the store does not know.
  ///   - position: Its place in its lane, from 1; nil if it has ended or the place is not known.
  package init(_ record: EnvelopeRecord, isInFlight: Bool, position: Int?, now: WallTime) {
    self.init(
      EnvelopeSummary(record), attempts: record.attempts, isInFlight: isInFlight,
      position: position, now: now)
    missing = record.missing
    replayOf = ReplayMark.original(of: record.draft.content)
  }

  /// Shows a summary, as a list has it.
  ///
  /// The parameters are those of a record's.
  package init(_ summary: EnvelopeSummary, isInFlight: Bool, position: Int?, now: WallTime) {
    self.init(
      summary, attempts: nil, isInFlight: isInFlight, position: position, now: now)
  }

  private init(
    _ summary: EnvelopeSummary, attempts: [AttemptRecord]?, isInFlight: Bool, position: Int?,
    now: WallTime
  ) {
    self.summary = summary
    self.attempts = attempts
    self.position = summary.fate.state.isEnd ? nil : position
    self.now = now
    state = summary.fate.state == .queued && isInFlight ? .delivering : summary.fate.state
  }

  /// The JSON that is answered.
  package func json() -> [UInt8] {
    var json = JSONWriter()
    write(to: &json)
    return json.finish()
  }

  /// Writes it as a value.
  func write(to json: inout JSONWriter) {
    let terms = summary.terms
    json.object { json in
      json.member("id", summary.id.description)
      json.member("client", terms.client)
      if let key = terms.key { json.member("key", key) }
      json.member("upstream", terms.upstream)
      json.member("method", terms.method)
      json.name("path")
      json.string(utf8: terms.target)
      json.member("lane", terms.lane)
      if let sequence = terms.sequence { json.member("sequence", sequence) }
      if let tag = terms.tag { json.member("tag", tag) }
      json.member("hold", terms.hold)
      if let coalesce = terms.coalesce { json.member("coalesce", coalesce) }
      if terms.references { json.member("references", true) }
      if let replayOf { json.member("replayOf", replayOf) }
      if let trace { json.member("trace", trace) }
      json.member("state", state.rawValue)
      if let position { json.member("position", position) }
      if let hindrance, state == .queued {
        json.member("waitsFor", hindrance.cause.rawValue)
        if let behind = hindrance.behind { json.member("waitsBehind", behind.description) }
      }
      json.member(missing)
      if let reason = summary.fate.reason { json.member("reason", reason) }
      json.member("acceptedAt", summary.id.acceptedAt)
      json.member("notBefore", terms.notBefore)
      json.member("expiresAt", terms.expiresAt)
      json.member("onFailure", terms.onFailure.rawValue)
      json.member("nextAttemptAt", nextAttemptAt)
      json.member("endedAt", summary.fate.endedAt)
      json.member("attemptCount", summary.fate.attemptCount)
      writeAttempts(to: &json)
      if summary.isInDoubt, state == .queued { json.member("inDoubt", true) }
      if let progress, state == .delivering { progress.write(to: &json) }
      if let status = summary.fate.responseStatus { json.member("responseStatus", status) }
      if let error { json.members(error) }
      json.member("bodyBytes", summary.bodyBytes)
    }
  }

  /// A time that has passed keeps nothing: only its turn does.
  private var nextAttemptAt: WallTime? {
    guard state == .queued, let dueAt = summary.dueAt, dueAt > now else { return nil }
    return dueAt
  }

  private func writeAttempts(to json: inout JSONWriter) {
    if let attempts {
      json.memberArray("attempts") { json in
        for attempt in attempts { Self.write(attempt, to: &json) }
      }
    } else if let error = summary.lastError {
      json.member("lastError", error)
    }
  }

  private static func write(_ attempt: AttemptRecord, to json: inout JSONWriter) {
    json.object { json in
      json.member("number", attempt.number)
      json.member("startedAt", attempt.startedAt)
      json.member("durationMs", max(0, attempt.durationMs))
      json.member("outcome", attempt.outcome.rawValue)
      if let status = attempt.status { json.member("status", status) }
      if let error = attempt.error { json.member("error", error) }
    }
  }
}
