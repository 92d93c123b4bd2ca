import RelayCore
import RelayServer
import WaystationOutbox

/// `waystation audit-lane`: holds a relay's ledger of a lane against its receipts, and against what
/// the upstream got.
///
/// It works on files alone, so that an auditor need not trust the relay, or reach it.
enum AuditLaneCommand {
  static func run(_ order: AuditLaneOrder) -> ExitCode {
    if order.isOfDeviceAlone { return runOfDevice(order) }
    let report: AuditReport
    do throws(AuditTrouble) { report = try audit(order) } catch {
      return tell(error, order)
    }
    StandardStream.output.line(order.isJSON ? report.json : report.text)
    return report.holds ? .good : .failed
  }

  /// Holds what the upstream got against the device's signatures alone: nobody asks the relay for
  /// anything then.
  private static func runOfDevice(_ order: AuditLaneOrder) -> ExitCode {
    let report: DeviceReport
    do throws(AuditTrouble) {
      let lane = LaneName(client: order.client ?? "", lane: order.lane ?? "")
      var log = RequestLog(of: lane, at: order.upstream, prefix: order.prefix, try keys(order))
      var evidence = LaneEvidence()
      try log.read(order.requests, into: &evidence)
      report = DeviceReport(
        lane: lane, verdict: log.device.verdict(from: first(order)), skipped: log.skipped,
        unsigned: log.unsigned)
    } catch {
      return tell(error, order)
    }
    StandardStream.output.line(order.isJSON ? report.json : report.text)
    return report.fault == nil && !report.isOfNothing ? .good : .failed
  }

  private static func keys(_ order: AuditLaneOrder) throws(AuditTrouble) -> DeviceKeys? {
    guard let path = order.deviceKeys else { return nil }
    return try DeviceKeys(reading: path)
  }

  /// The number that an audit of signatures begins with.
  private static func first(_ order: AuditLaneOrder) -> UInt64 { UInt64(order.from ?? 1) }

  private static func tell(_ trouble: AuditTrouble, _ order: AuditLaneOrder) -> ExitCode {
    switch trouble {
    case .unreadable(let words):
      StandardStream.error.line("waystation audit-lane: \(SafeText.line(words))")
      return .usage
    case .unproven(let document, let place, let words):
      StandardStream.output.line(
        order.isJSON
          ? AuditReport.json(of: document, place)
          : AuditReport.text(of: document, place, words))
      return .failed
    }
  }

  private static func audit(_ order: AuditLaneOrder) throws(AuditTrouble) -> AuditReport {
    let keys = try TrustedKeys(reading: order.keys, pin: order.pin)
    var evidence = LaneEvidence()
    let (lane, undelivered) = try LedgerFile.read(order.ledger, keys, into: &evidence)
    let receipts = try LaneReceipts(reading: order.receipts, of: lane, in: order.ledger, keys)
    var log = RequestLog(of: lane, at: order.upstream, prefix: order.prefix, try self.keys(order))
    try log.read(order.requests, into: &evidence)
    let chains: [LaneAudit.Chain]
    do throws(LaneAudit.NoReceiptBefore) {
      chains = try LaneAudit.chains(of: receipts.heads, from: order.from, ReceiptDesk.hash)
    } catch {
      let isBehindAll = receipts.heads.allSatisfy { $0.chain.last < error.number }
      throw .unreadable(
        "no receipt in \(order.receipts) "
          + (isBehindAll ? "goes as far as \(error.number)" : "ends at \(error.number - 1)")
          + ", so the audit cannot begin with \(error.number)")
    }
    var report = AuditReport(
      lane: lane, signature: receipts.newest.map { AuditReport.Signature($0, order.pin) },
      skipped: log.skipped)
    // Links that differ say more of the same receipts, and which number it is.
    if !chains.contains(where: \.isContradicted), let fault = receipts.fault {
      report.fault = fault
      return report
    }
    let audit = LaneAudit(evidence, ReceiptDesk.hash)
    report.notCovered = audit.requests(outside: chains)
    for chain in chains {
      report.chains.append((Base64URL.encode(chain.incarnation), chain.numbers))
      switch audit.verdict(on: chain) {
      case .holds(let counts): report.counts.add(counts)
      case .fails(let fault):
        report.fault = fault
        return report
      }
    }
    if order.deviceKeys != nil {
      report.device = DeviceReport(
        lane: lane,
        verdict: log.device.verdict(from: first(order)) {
          undelivered.contains(Int64(clamping: $0))
        }, skipped: log.skipped, unsigned: log.unsigned)
    }
    return report
  }
}
