import JSON
import RelayCore

/// The relay's state for operators (`Status` in `openapi.yaml`).
package struct StatusView: Sendable {
  /// A lane that stands until someone resolves it.
  package struct BlockedLane: Sendable {
    var name: LaneName
    var envelope: EnvelopeID
    var since: WallTime?
    var reason: String
  }

  /// Averages per second.
  package struct Rates: Sendable {
    var accepted: Double
    var delivered: Double
    var failed: Double
    var attempts: Double
    var shed: Double
  }

  /// What only the store knows, such as names.
  struct Stored: Sendable {
    var unconfigured: [UpstreamsView.Unconfigured] = []
    var blockedLanes: [BlockedLane] = []
    var backlogs: [(client: String, waiting: Int)] = []
  }

  /// By whom receipts are signed.
  package struct Receipts: Sendable {
    /// The relay's name in what it signs.
    var issuer: String
    /// The name of the key that signs.
    var kid: String
  }

  /// What needs somebody, the most pressing first.
  var needs: [Need]
  var isDraining: Bool
  var startedAt: WallTime
  var uptimeSeconds: Int64
  var configuration: ConfigurationInForce
  /// By whom receipts are signed; nil if none are made.
  var receipts: Receipts?
  var statistics: StoreStatistics
  /// Its files; nil if it keeps none on this machine.
  var files: StoreFiles?
  var waitingBytes: Int64
  var uploads: (count: Int, bytes: Int64)
  var inFlightCount: Int
  var oldestWaitingAt: WallTime?
  var upstreams: UpstreamsView
  var rates: Rates
  var blockedLaneCount: Int
  /// What the store has told.
  var stored: Stored
  /// Whether it could not be asked, so that nothing of that is shown.
  var isPartial: Bool

  /// The JSON that is answered.
  package func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      if let name = configuration.settings.configuration.name { json.member("name", name) }
      json.member("version", ReleaseVersion.number)
      json.member("state", isDraining ? "draining" : "running")
      json.member("startedAt", startedAt)
      json.member("uptimeSeconds", max(0, uptimeSeconds))
      json.memberArray("needs") { json in
        for need in needs { NeedView(need: need).write(to: &json) }
      }
      json.memberObject("configuration") { configuration.writeMembers(to: &$0) }
      if let receipts {
        json.memberObject("receipts") { json in
          json.member("issuer", receipts.issuer)
          json.member("kid", receipts.kid)
        }
      }
      json.memberObject("store") { writeStore(to: &$0) }
      upstreams.write(to: &json)
      json.memberObject("rates") { writeRates(to: &$0) }
      json.member("blockedLaneCount", blockedLaneCount)
      json.memberArray("blockedLanes") { json in
        for lane in stored.blockedLanes { lane.write(to: &json) }
      }
      json.memberArray("backlogs") { json in
        for backlog in stored.backlogs {
          json.object { json in
            json.member("client", backlog.client)
            json.member("waiting", backlog.waiting)
          }
        }
      }
    }
    return json.finish()
  }

  private func writeStore(to json: inout JSONWriter) {
    json.member("envelopes", EnvelopeState.allCases) { state in
      statistics.count(of: state, inFlight: inFlightCount)
    }
    json.member("contentBytes", statistics.contentBytes)
    json.member("waitingBytes", waitingBytes)
    json.member("openUploads", uploads.count)
    json.member("openUploadBytes", uploads.bytes)
    if let files {
      json.member("fileBytes", files.fileBytes)
      json.member("logBytes", files.logBytes)
      json.member("roomBytes", files.shownRoomBytes)
    }
    json.member("oldestWaitingAt", oldestWaitingAt)
    if let trouble = statistics.trouble { json.member("trouble", trouble) }
    if !statistics.relays.isEmpty {
      json.memberArray("relays") { json in
        for relay in statistics.relays { relay.write(to: &json) }
      }
    }
    if let files { Self.writeDamage(of: files, to: &json) }
  }

  private static func writeDamage(of files: StoreFiles, to json: inout JSONWriter) {
    let damage = files.damage
    if let sentence = damage.sentence {
      json.memberObject("damage") { json in
        json.member("quarantined", damage.quarantined)
        json.member("unwritten", damage.unwritten)
        if !damage.leftOut.isEmpty {
          json.memberArray("leftOut") { json in
            for part in StoreDamage.Part.allCases where damage.leftOut.contains(part) {
              json.string(part.rawValue)
            }
          }
        }
        json.member("detail", sentence)
      }
    }
    if let aside = files.setAside { json.member("setAside", aside.folder) }
  }

  private func writeRates(to json: inout JSONWriter) {
    json.member("windowSeconds", RateMeter.windowSeconds)
    json.member("acceptedPerSecond", rates.accepted)
    json.member("deliveredPerSecond", rates.delivered)
    json.member("failedPerSecond", rates.failed)
    json.member("attemptsPerSecond", rates.attempts)
    json.member("shedPerSecond", rates.shed)
  }
}

extension SharingRelay {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      if let address { json.member("address", address) }
      json.member("version", version)
      json.member("role", hasStore ? "leader" : "spare")
      json.member("seenMsAgo", seenMsAgo)
    }
  }
}

extension StatusView.BlockedLane {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("client", name.client)
      json.member("lane", name.lane)
      json.member("envelope", envelope.description)
      json.member("since", since)
      json.member("reason", reason)
    }
  }
}

extension StoreFiles {
  /// The room as it is shown: no larger than a number of the contract.
  var shownRoomBytes: Int64 { min(roomBytes, SequenceSyntax.range.upperBound) }
}
