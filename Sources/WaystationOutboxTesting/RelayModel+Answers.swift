import JSON
import RelayCore
import WaystationOutbox

extension RelayModel {
  func answer(
    _ results: [Result], since: Int, asked: [(name: String, first: UInt64, last: UInt64)],
    wantsReceipts: Bool
  ) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("client", "device")
      json.member("time", RFC3339.format(WallTime(millisecondsSinceEpoch: wallMs)))
      json.memberArray("results") { json in
        for (index, result) in results.enumerated() { write(result, index, to: &json) }
      }
      json.memberArray("lanes") { json in
        let unknown = asked.map(\.name).filter { !lanes.contains($0) }
        for name in lanes + unknown {
          write(lane: name, asked.first { $0.name == name }, to: &json)
        }
      }
      if wantsReceipts, let receipts {
        json.memberArray("receipts") { json in
          for name in lanes { receipts.write(name, to: &json) }
        }
      }
      json.memberObject("maySend") { json in
        json.member("envelopes", 1000)
        json.member("bytes", 1 << 30)
        json.member("envelopesPerBatch", 1000)
        json.member("bytesPerBatch", 32 << 20)
        json.member("bodyBytesMax", 10 << 20)
      }
      let told = ends[min(since, ends.count)...]
      json.memberArray("ended") { json in
        for key in told { if let envelope = envelopes[key] { write(ended: envelope, to: &json) } }
      }
      json.member("more", false)
      json.member("since", "\(ends.count)")
      json.memberObject("relay") { json in
        json.member("version", "model")
        json.memberArray("features") { json in
          let more = makesReceipts ? ["receipts"] : []
          for name in ["blocked-lanes", "by-key"] + more + [
            "responses", "spans", "sync", "uploads",
          ] {
            json.string(name)
          }
        }
      }
    }
    return json.finish()
  }

  func write(_ result: Result, _ index: Int, to json: inout JSONWriter) {
    json.object { json in
      json.member("index", index)
      switch result {
      case .taken(let envelope, let isNew):
        json.member("result", isNew ? "accepted" : "duplicate")
        json.member("id", envelope.id)
        json.member("state", (envelopes[envelope.key] ?? envelope).state.rawValue)
      case .void: json.member("result", "void")
      case .rejected(let status, let name, let words):
        json.member("result", "rejected")
        json.name("problem")
        Self.write(status, name, words, to: &json)
      }
    }
  }

  func write(
    lane name: String, _ asked: (name: String, first: UInt64, last: UInt64)?,
    to json: inout JSONWriter
  ) {
    let lane = lanesByName[name] ?? Lane()
    json.object { json in
      json.member("lane", name)
      if lane.isNumbered { json.member("lastSequence", lane.last) }
      if let highest = lane.come.max() {
        json.member("highestSequence", highest)
        let missing = (lane.last + 1..<highest).filter { !lane.come.contains($0) }
        Self.write("missing", missing, to: &json)
      }
      let lied = lie == .passedBy ? lane.keys.keys.filter { $0 % 2 == 0 } : []
      let skipped = lane.skipped.union(lied).sorted()
      if !skipped.isEmpty { Self.write("skipped", skipped, to: &json) }
      if let asked {
        let unknown = (asked.first...max(asked.first, asked.last)).filter {
          $0 > lane.last && !lane.come.contains($0)
        }
        Self.write("send", unknown, to: &json)
      }
      if let key = lane.line.first, let head = envelopes[key], head.state == .blocked {
        json.memberObject("blockedBy") { json in
          json.member("id", head.id)
          json.member("key", head.key)
          json.member("reason", "the upstream answered \(head.status ?? 0)")
          json.member("responseStatus", head.status ?? 400)
          if let error = head.error { json.members(error) }
        }
      }
      json.member("waiting", lane.line.count)
    }
  }

  static func write(_ name: String, _ numbers: [UInt64], to json: inout JSONWriter) {
    json.memberArray(name) { json in
      for number in numbers {
        json.object { json in
          json.member("first", number)
          json.member("last", number)
        }
      }
    }
  }

  func write(ended envelope: Envelope, to json: inout JSONWriter) {
    json.object { json in
      json.member("id", envelope.id)
      json.member("key", envelope.key)
      json.member("lane", envelope.lane)
      if let sequence = envelope.sequence { json.member("sequence", sequence) }
      json.member("state", envelope.state.rawValue)
      if envelope.state == .failed { json.member("reason", "the upstream refused it") }
      json.member("endedAt", RFC3339.format(WallTime(millisecondsSinceEpoch: wallMs)))
      json.member("attemptCount", 1)
      if let status = envelope.status {
        json.member("responseStatus", status)
        json.memberObject("response") { json in
          json.memberObject("headers") { json in
            if envelope.error != nil { json.member("Content-Type", "application/json") }
          }
          json.member("body", envelope.answer)
        }
      }
    }
  }

  func client() -> Response {
    guard !envelopes.isEmpty else {
      return problem(404, "unknown-client", "nothing of it was ever accepted")
    }
    var json = JSONWriter()
    json.object { json in
      json.memberArray("lanes") { json in
        for name in lanes {
          json.object { json in
            json.member("name", name)
            json.member("lastSequence", lanesByName[name]?.last ?? 0)
            if let highest = lanesByName[name]?.come.max() {
              json.member("highestSequence", highest)
            }
          }
        }
      }
    }
    return Response(
      status: 200, headers: [("Content-Type", "application/json")], body: json.finish())
  }
}
