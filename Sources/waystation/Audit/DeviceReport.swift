import JSON
import RelayCore
import WaystationOutbox

/// What the audit of a device's signatures found, in words and in JSON.
struct DeviceReport {
  let lane: LaneName
  let verdict: Result<DeviceAudit.Counts, DeviceAudit.Fault>
  /// Lines of the upstream's record that are not of the lane, or have no number.
  let skipped: Int
  /// Those of them that may be of the lane, and are not signed.
  let unsigned: Int

  /// What does not hold; nil if everything does.
  var fault: DeviceAudit.Fault? { if case .failure(let fault) = verdict { fault } else { nil } }

  /// Whether nothing came that is signed: by itself that shows nothing, and may be a name that was
  /// mistyped.
  var isOfNothing: Bool {
    if case .success(let counts) = verdict { counts.signed == 0 } else { false }
  }

  // MARK: - JSON

  /// It in one line, by itself.
  var json: String {
    var json = JSONWriter()
    json.object { json in
      json.member("holds", fault == nil && !isOfNothing)
      if isOfNothing { json.member("reason", "nothing-signed") }
      json.member("client", lane.client)
      json.member("lane", lane.lane)
      write(to: &json)
      if fault == nil {
        json.member("skipped", skipped)
        json.member("skippedUnsigned", unsigned)
      }
    }
    return String(decoding: json.finish(), as: UTF8.self)
  }

  /// What of it stands among the members of a report.
  func write(to json: inout JSONWriter) {
    switch verdict {
    case .failure(let fault):
      json.member("reason", fault.reason.rawValue)
      json.member("first", fault.number)
      json.member("last", fault.number)
      if let behind = fault.behind { json.member("behind", behind) }
    case .success(let counts):
      json.memberObject("signed") { json in
        json.member("first", counts.first)
        json.member("last", counts.last)
        json.member("count", counts.signed)
        json.member("anew", counts.anew)
        json.member("before", counts.before)
      }
    }
  }

  // MARK: - Words

  /// It for people, by itself.
  var text: String {
    let name = SafeText.line("\(lane.client)/\(lane.lane)")
    if let fault {
      return "does not hold: \(name), number \(fault.number): \(Self.sentence(fault))"
    }
    if isOfNothing {
      return "does not hold: \(name): nothing came that a device has signed; look at --client,"
        + " --lane and --from" + leftOut
    }
    return "holds: \(name)\n\(line)" + leftOut
  }

  /// The lines of the record that the audit says nothing of.
  private var leftOut: String {
    guard skipped > 0 else { return "" }
    return
      "\nleft out, without a number or of other lanes: \(HumanText.counted(Int64(skipped), "line"))"
      + (unsigned > 0 ? ", of which \(unsigned) may be of this lane, and are not signed" : "")
  }

  /// What holds, in a line.
  var line: String {
    guard case .success(let counts) = verdict, counts.signed > 0 else {
      return "signed by the device: nothing came"
    }
    var line =
      "signed by the device: \(HumanText.counted(Int64(counts.signed), "number")),"
      + " \(counts.first) to \(counts.last)"
    if counts.before > 0 { line += "; \(counts.before) came unsigned before them" }
    if counts.anew > 0 {
      line += "; it began anew \(HumanText.counted(Int64(counts.anew), "time"))"
    }
    return line
  }

  /// Why a number does not hold.
  static func sentence(_ fault: DeviceAudit.Fault) -> String {
    switch fault.reason {
    case .unsigned: "it came without the device's signature"
    case .badSignature:
      "what came with it is signed by no key of --device-keys, or is of another lane or number"
    case .changed:
      "the upstream got another request than the device has signed; if that is so of each number,"
        + " look at --upstream and --strip-path"
    case .signedTwice: "the device has signed two things under it"
    case .anotherHistory: "it does not follow on what came before it, by what the device has signed"
    case .missing:
      "it did not come. The device has signed something behind it, and has neither given it up nor"
        + " begun anew since. Where it ended at the relay, --ledger shows that; where these files"
        + " begin later, say so by --from"
    case .anotherOrder: "it came at the upstream behind number \(fault.behind ?? 0)"
    }
  }
}
