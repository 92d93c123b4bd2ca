import JSON
import RelayCore

/// Where an envelope is, as it is shown (`EnvelopeView` in `openapi.yaml`).
///
/// Its headers and its body are not: they may hold secrets.
package struct EnvelopeView: Sendable {
  private let record: EnvelopeRecord
  private let state: EnvelopeState
  private let position: Int?
  private let now: WallTime

  /// Shows a record.
  ///
  /// - Parameters:
  ///   - isInFlight: Whether an attempt is under way, which the store does not know.
  ///   - position: Its place in its lane, from 1; nil if it has ended or the place is not known.
  package init(_ record: EnvelopeRecord, isInFlight: Bool, position: Int?, now: WallTime) {
    self.record = record
    self.position = record.state.isEnd ? nil : position
    self.now = now
    state = record.state == .queued && isInFlight ? .delivering : record.state
  }

  /// The JSON that is answered.
  package func json() -> [UInt8] {
    let draft = record.draft
    var json = JSONWriter()
    json.object { json in
      json.member("id", record.id.description)
      json.member("client", draft.client)
      if let key = draft.key { json.member("key", key) }
      json.member("upstream", draft.upstream)
      json.member("method", draft.content.method)
      json.name("path")
      json.string(utf8: draft.content.target)
      json.member("lane", draft.lane)
      if let sequence = draft.sequence { json.member("sequence", sequence) }
      if let tag = draft.tag { json.member("tag", tag) }
      json.member("hold", draft.hold)
      json.member("state", state.rawValue)
      if let position { json.member("position", position) }
      if let reason = record.reason { json.member("reason", reason) }
      json.member("acceptedAt", record.id.acceptedAt)
      json.member("notBefore", draft.notBefore)
      json.member("expiresAt", draft.expiresAt)
      json.member("onFailure", draft.onFailure.rawValue)
      json.member("nextAttemptAt", nextAttemptAt)
      json.member("endedAt", record.endedAt)
      json.member("attemptCount", record.attemptCount)
      json.memberArray("attempts") { json in
        for attempt in record.attempts { Self.write(attempt, to: &json) }
      }
      if let status = record.responseStatus { json.member("responseStatus", status) }
      json.member("bodyBytes", draft.content.body.byteCount)
    }
    return json.finish()
  }

  /// A time that has passed keeps nothing: only its turn does.
  private var nextAttemptAt: WallTime? {
    guard state == .queued, let dueAt = record.dueAt, dueAt > now else { return nil }
    return dueAt
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
