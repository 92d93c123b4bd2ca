import JSON
import RelayCore

/// A client's state for people (`ClientView` in `openapi.yaml`).
package struct ClientView: Sendable {
  /// One lane, as the dispatcher sees it; all that is known of one in which nothing waits is the
  /// store's record.
  package struct Lane: Sendable {
    /// The lane's record in the store.
    package var record: LaneRecord
    /// Its phase; nil if nothing waits in it.
    package var phase: RelayCore.Lane.Phase?
    /// The number of envelopes that wait in it.
    package var waiting: Int
    /// The number of them that are parked.
    package var parked = 0
    /// The standing of its first envelope; nil if that is not known.
    package var headStanding: Standing?
    /// Its first envelope; nil if it is not known.
    package var head: EnvelopeID?
    /// Whether somebody has paused it.
    package var isPaused = false
    /// In which order its envelopes take their turns.
    package var order = LaneOrder.strict
    /// Whether it is an evidence lane.
    package var isEvidence = false

    /// Describes a lane; see the properties for what each part means.
    package init(
      record: LaneRecord, phase: RelayCore.Lane.Phase?, waiting: Int, headStanding: Standing?,
      head: EnvelopeID?
    ) {
      self.record = record
      self.phase = phase
      self.waiting = waiting
      self.headStanding = headStanding
      self.head = head
    }
  }

  private let client: String
  private let isPaused: Bool
  private let lanes: [Lane]
  /// The envelopes that block their lanes until a person resolves them; at most ``attentionMax``.
  package var needsAttention: [BlockedEnvelope] = []
  /// The number of blocked lanes.
  package var needsAttentionCount = 0
  /// Its open uploads, and the bytes that they claim.
  package var openUploads = WaitingUse()

  /// The most envelopes that need a person and are listed.
  package static let attentionMax = BlockedEnvelope.detailedMax

  /// Shows a client with its lanes, in the order in which they were first used.
  package init(client: String, isPaused: Bool = false, lanes: [Lane]) {
    self.client = client
    self.isPaused = isPaused
    self.lanes = lanes
  }

  /// The JSON that is answered.
  package func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("client", client)
      json.member("paused", isPaused)
      json.member("waiting", lanes.reduce(0) { $0 + $1.waiting })
      json.member("states", EnvelopeState.allCases, count)
      json.memberArray("lanes") { json in
        for lane in lanes { lane.write(to: &json) }
      }
      json.memberObject("openUploads") { json in
        json.member("count", openUploads.count)
        json.member("bytes", openUploads.bytes)
      }
      json.member("needsAttentionCount", needsAttentionCount)
      json.memberArray("needsAttention") { json in
        for blocked in needsAttention { blocked.writeForPerson(to: &json) }
      }
    }
    return json.finish()
  }

  /// Only heads are looked at: what stands behind one counts as queued, since the line behind it
  /// may be on disk.
  private func count(_ state: EnvelopeState) -> Int64 {
    lanes.reduce(0) { total, lane in
      if state.isEnd { return total + Int64(lane.record.ended[state] ?? 0) }
      if state == .parked { return total + Int64(lane.parked) }
      let isHeads = lane.headState == state ? 1 : 0
      let behind = state == .queued && lane.inLine > 0 ? lane.inLine - 1 : 0
      return total + Int64(isHeads + behind)
    }
  }
}

extension ClientView.Lane {
  /// The number of envelopes in the lane's line, parked ones left out.
  fileprivate var inLine: Int { waiting - parked }

  /// The state of the first envelope; nil if none stands in the lane.
  fileprivate var headState: EnvelopeState? {
    guard inLine > 0 else { return nil }
    return phase == .inFlight ? .delivering : headStanding?.state ?? .queued
  }

  /// The lane's state in the contract's words.
  fileprivate var state: String {
    switch phase {
    case nil: "idle"
    case .starved, .ready, .recording: "queued"
    case .waiting, .unconfigured: "waiting"
    case .held: "held"
    case .parked: "parked"
    case .blocked, .unwritable: "blocked"
    case .paused: "paused"
    case .inFlight: "delivering"
    }
  }

  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("name", record.name)
      json.member("order", order.rawValue)
      if isEvidence { json.member("evidence", true) }
      json.member("state", state)
      json.member("paused", isPaused)
      json.member("waiting", waiting)
      if parked > 0 { json.member("parked", parked) }
      if let head { json.member("head", head.description) }
      if let sequence = record.lastSequence { json.member("lastSequence", sequence) }
      if let highest = record.highestSequence { json.member("highestSequence", highest) }
      json.member(record.missing)
      if !record.skipped.isEmpty { json.member("skipped", record.skipped) }
      json.member("ended", EnvelopeState.allCases.filter(\.isEnd)) { Int64(record.ended[$0] ?? 0) }
    }
  }
}
