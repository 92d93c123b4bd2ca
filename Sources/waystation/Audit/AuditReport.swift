import JSON
import RelayCore
import WaystationOutbox

/// What an audit found, in words and in JSON.
struct AuditReport {
  /// Who has signed the newest receipt.
  struct Signature {
    let issuer: String
    let store: String
    let atMs: Int64
    let kid: String
    let isPinned: Bool

    init(_ receipt: SignedReceipt, _ pin: String?) {
      issuer = (try? JSONValue.parse(receipt.text.payload)["iss"]?.string()) ?? ""
      store = receipt.store
      atMs = receipt.atMs
      kid = receipt.text.keyID
      isPinned = pin != nil
    }
  }

  let lane: LaneName
  let signature: Signature?
  /// Lines of the upstream's record that are not of the lane, or have no number.
  let skipped: Int
  /// Requests under numbers of which no receipt speaks.
  var notCovered = 0
  /// The chains that were looked at, each with its numbers; of a fault, the last one has it.
  var chains: [(incarnation: String, numbers: SequenceRange)] = []
  var counts = LaneAudit.Counts()
  var fault: LaneAudit.Fault?
  /// What the device has signed; nil if nobody has looked, or something does not hold without it.
  var device: DeviceReport?

  /// Whether everything holds.
  var holds: Bool { fault == nil && device?.fault == nil }

  // MARK: - JSON

  /// It in one line.
  var json: String {
    var json = JSONWriter()
    json.object { json in
      json.member("holds", holds)
      json.member("client", lane.client)
      json.member("lane", lane.lane)
      json.memberArray("chains") { json in
        for chain in chains {
          json.object { json in
            json.member("incarnation", chain.incarnation)
            json.member("first", chain.numbers.first)
            json.member("last", chain.numbers.last)
          }
        }
      }
      if let fault {
        Self.write(fault, to: &json)
      } else if holds {
        writeCounts(to: &json)
      }
      device?.write(to: &json)
    }
    return String(decoding: json.finish(), as: UTF8.self)
  }

  private static func write(_ fault: LaneAudit.Fault, to json: inout JSONWriter) {
    json.member("reason", fault.reason.rawValue)
    json.member("first", fault.numbers.first)
    json.member("last", fault.numbers.last)
    if let behind = fault.behind { json.member("behind", behind) }
    if let next = fault.next { json.member("next", next) }
    if let group = fault.group { json.member("group", group) }
  }

  private func writeCounts(to json: inout JSONWriter) {
    for (name, count) in named { json.member(name, count) }
    json.member("givenUp", counts.givenUp)
    json.member("repeated", counts.repeated)
    json.member("notCovered", notCovered)
    json.member("skipped", skipped)
    guard let signature else { return }
    json.member("issuer", signature.issuer)
    json.member("store", signature.store)
    json.member("at", signature.atMs)
    json.member("kid", signature.kid)
    json.member("pinned", signature.isPinned)
  }

  /// The counts of the states, by their names.
  private var named: [(String, Int64)] {
    [
      ("delivered", counts.delivered), ("failed", counts.failed), ("expired", counts.expired),
      ("cancelled", counts.cancelled), ("waiting", counts.waiting),
    ]
  }

  /// What does not hold by itself, in one line of JSON.
  static func json(of document: AuditTrouble.Document, _ place: Int?) -> String {
    var json = JSONWriter()
    json.object { json in
      json.member("holds", false)
      json.member("reason", document.rawValue)
      if let place { json.member("place", place) }
    }
    return String(decoding: json.finish(), as: UTF8.self)
  }

  // MARK: - Words

  /// It for people.
  var text: String {
    let name = SafeText.line("\(lane.client)/\(lane.lane)")
    if let fault {
      let first = "does not hold: \(name), \(Self.words(fault.numbers)): \(Self.sentence(fault))"
      return ([first] + leftOut).joined(separator: "\n")
    }
    if let device, device.fault != nil { return ([device.text] + leftOut).joined(separator: "\n") }
    let ranges = chains.map { Self.words($0.numbers) }.joined(separator: ", and ")
    var lines = ["holds: \(name), \(ranges)"]
    lines.append(named.map { "\($0) \(HumanText.count($1))" }.joined(separator: ", "))
    lines.append(
      "void or given up: \(HumanText.count(counts.givenUp)); repeated requests:"
        + " \(HumanText.count(counts.repeated))")
    lines += leftOut
    if let device { lines.append(device.line) }
    if let signature { lines.append(signature.text) }
    return lines.joined(separator: "\n")
  }

  /// What of the upstream's record was not compared.
  private var leftOut: [String] {
    var lines: [String] = []
    if notCovered > 0 {
      lines.append(
        "not looked at: \(HumanText.counted(Int64(notCovered), "request"))"
          + " under numbers of which no receipt here speaks")
    }
    if skipped > 0 {
      lines.append(
        "left out: \(HumanText.counted(Int64(skipped), "line")) of other lanes or without a number")
    }
    return lines
  }

  private static func words(_ numbers: SequenceRange) -> String {
    numbers.count == 1 ? "number \(numbers.first)" : "numbers \(numbers.first) to \(numbers.last)"
  }

  /// What does not hold by itself, for people.
  static func text(
    of document: AuditTrouble.Document, _ place: Int?, _ words: String
  ) -> String {
    let name =
      switch document {
      case .keys: "the keys"
      case .receipt: "receipt"
      case .page: "page"
      }
    return "does not hold: \(name)\(place.map { " \($0)" } ?? ""): \(SafeText.line(words))"
  }

  private static func sentence(_ fault: LaneAudit.Fault) -> String {
    switch fault.reason {
    case .receiptsContradict: "two receipts of one chain contradict each other"
    case .twoHistories:
      "receipts that end there cannot both be true: the relay has signed two histories of its"
        + " commit \(fault.group ?? 0). One that was put back to an old backup does so, too"
    case .noPage:
      "no page of the ledger speaks for it; ask the relay for the ledger from there on, or begin"
        + " behind a receipt by --from"
    case .pagesContradict:
      "two pages of the ledger contradict each other: they have different items, or one takes back"
        + " the delivery that an earlier one tells of"
    case .chainNotInLedger: chainNotInLedger(fault)
    case .changedInLedger:
      "the ledger does not lead to the receipt, and has another item than the upstream got"
    case .leftOutOfLedger:
      fault.numbers.count == 1
        ? "it is left out of the ledger" : "at least one of them is left out of the ledger"
    case .addedToLedger: "the ledger has what the links of the other rows pass by"
    case .linkDoesNotFollow:
      fault.numbers.count == 1
        ? "its row was changed: its link does not follow from the one before"
        : "a row was changed or left out: the last link does not follow from the first one"
    case .ledgerDoesNotLeadToReceipt:
      "rows were changed, left out or added, and all links made anew: they lead to another link"
        + " than that of the receipt. A receipt in between would tell more"
    case .notAtUpstream: "the ledger calls it delivered, and the upstream did not get it"
    case .anotherRequestAtUpstream:
      "the upstream got another request than the receipt covers; if that is so of each number, look"
        + " at --upstream and --strip-path"
    case .notInLedger: "the upstream got a request that neither ledger nor receipt has"
    case .anotherOrder: "it came at the upstream behind number \(fault.behind ?? 0)"
    }
  }

  private static func chainNotInLedger(_ fault: LaneAudit.Fault) -> String {
    "the ledger has no row of that chain, and begins at number \(fault.next ?? 0) behind it. If the"
      + " lane was no evidence lane before that, begin with --from \(fault.numbers.last + 1), or"
      + " leave that chain's receipts out; if it was one, the relay has dropped the rows"
  }
}

extension AuditReport.Signature {
  fileprivate var text: String {
    let time = RFC3339.format(WallTime(millisecondsSinceEpoch: atMs))
    return SafeText.line(
      "signed \(HumanText.time(time)) UTC by \(kid), "
        + (isPinned ? "which you trust" : "whose ring you have not pinned")
        + "; \(issuer), store \(store)")
  }
}
