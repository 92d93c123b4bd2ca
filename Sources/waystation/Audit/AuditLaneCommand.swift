import RelayCore
import RelayServer

/// `waystation audit-lane`: holds a relay's ledger of a lane against its receipts, and against what
/// the upstream got.
///
/// It works on files alone, so that an auditor need not trust the relay, or reach it.
enum AuditLaneCommand {
  static func run(_ order: AuditLaneOrder) -> ExitCode {
    let report: AuditReport
    do throws(AuditTrouble) { report = try audit(order) } catch {
      return tell(error, order)
    }
    StandardStream.output.line(order.isJSON ? report.json : report.text)
    return report.fault == nil ? .good : .failed
  }

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
    let lane = try LedgerFile.read(order.ledger, keys, into: &evidence)
    let receipts = try LaneReceipts(reading: order.receipts, of: lane, in: order.ledger, keys)
    var log = RequestLog(of: lane, at: order.upstream, prefix: order.prefix)
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
    return report
  }
}
