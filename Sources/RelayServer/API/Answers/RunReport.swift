import JSON
import RelayCore

/// The results of a run so far (`RunReport` in `openapi.yaml`).
package struct RunReport: Sendable {
  private let client: String
  private let run: ClientRun
  private let isJoined: Bool

  /// Reports on a run.
  ///
  /// - Parameter isJoined: Whether it was under way when it was asked for.
  package init(client: String, _ run: ClientRun, isJoined: Bool) {
    self.client = client
    self.run = run
    self.isJoined = isJoined
  }

  /// The JSON that is answered.
  package func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("client", client)
      json.member("complete", run.isComplete)
      json.member("joined", isJoined)
      json.member("matched", run.members.count)
      json.member("summary", run.summary.rawValue)
      json.memberArray("succeeded") { json in
        each { if $1 == .delivered { json.string($0.description) } }
      }
      json.memberArray("failed") { json in
        each { if case .failed(let state, let error) = $1 { Self.write($0, state, error, &json) } }
      }
      if let first = run.firstFailure, case .failed(let state, let error) = run.verdicts[first] {
        json.name("firstFailure")
        Self.write(run.members[first].id, state, error, &json)
      }
      json.memberArray("skipped") { json in
        each { if case .skipped(let reason) = $1 { Self.write($0, reason, &json) } }
      }
      json.memberArray("pending") { json in
        each { if $1 == .pending { json.string($0.description) } }
      }
    }
    return json.finish()
  }

  private func each(_ body: (EnvelopeID, ClientRun.Verdict) -> Void) {
    for (member, verdict) in zip(run.members, run.verdicts) { body(member.id, verdict) }
  }

  private static func write(
    _ id: EnvelopeID, _ state: EnvelopeState, _ error: String, _ json: inout JSONWriter
  ) {
    json.object { json in
      json.member("id", id.description)
      json.member("state", state.rawValue)
      json.member("error", error)
    }
  }

  private static func write(_ id: EnvelopeID, _ reason: RunSkip, _ json: inout JSONWriter) {
    json.object { json in
      json.member("id", id.description)
      json.member("reason", reason.rawValue)
    }
  }
}
