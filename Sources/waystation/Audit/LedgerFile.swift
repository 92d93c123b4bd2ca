import JSON
import RelayCore
import RelayServer
import WaystationOutbox

/// Reads the pages of a lane's ledger, and verifies each.
///
/// A page is a line for each row, and a last one that signs for them.
struct LedgerFile {
  private let path: String
  private let keys: TrustedKeys
  private var entries: [LedgerEntry] = []
  private var lane: LaneName?
  private var pages = 0
  /// The numbers that have ended, and that the upstream need not have.
  private var undelivered: Set<Int64> = []

  private init(_ path: String, _ keys: TrustedKeys) {
    self.path = path
    self.keys = keys
  }

  /// Reads a file of pages, one behind the other.
  ///
  /// - Returns: The lane that they are of, and the numbers that have ended otherwise than
  ///   delivered.
  static func read(
    _ path: String, _ keys: TrustedKeys, into evidence: inout LaneEvidence
  ) throws(AuditTrouble) -> (lane: LaneName, undelivered: Set<Int64>) {
    var reader = LedgerFile(path, keys)
    try AuditFile.forEachLine(of: path) { value, number throws(AuditTrouble) in
      try reader.take(value, number, &evidence)
    }
    guard let lane = reader.lane, reader.entries.isEmpty else {
      throw .unreadable(
        "\(path) \(reader.pages == 0 ? "has no page of a ledger" : "ends within a page")")
    }
    return (lane, reader.undelivered)
  }

  private mutating func take(
    _ value: JSONValue, _ number: Int, _ evidence: inout LaneEvidence
  ) throws(AuditTrouble) {
    guard let object = try? value.object() else {
      throw .unreadable("line \(number) of \(path) is no object")
    }
    guard LedgerSignature.ends(object) else {
      guard let entry = LedgerEntry(object) else {
        throw .unreadable("line \(number) of \(path) is no row of a ledger")
      }
      return entries.append(entry)
    }
    guard let page = LedgerSignature(object), lane == nil || lane == page.lane else {
      throw .unreadable("line \(number) of \(path) ends no page of this lane's ledger")
    }
    lane = page.lane
    pages += 1
    let time = try verify(page)
    for entry in entries where entry.ending.map({ $0.state != .delivered }) ?? false {
      undelivered.insert(entry.number)
    }
    evidence.add(entries, speakingFor: page.numbers, at: time)
    entries.removeAll(keepingCapacity: true)
  }

  /// Verifies that the rows, and what their last line says, are what was signed.
  ///
  /// - Returns: When they were signed.
  private func verify(_ page: LedgerSignature) throws(AuditTrouble) -> WallTime {
    func unproven(_ words: String) -> AuditTrouble { .unproven(.page, place: pages, words) }
    guard let text = page.text else {
      throw unproven("it is not signed as a page of a ledger is")
    }
    if let fault = keys.fault(of: text) { throw unproven(fault) }
    if let fault = page.fault(of: entries, ReceiptDesk.hash) { throw unproven(fault) }
    return WallTime(millisecondsSinceEpoch: page.atMs ?? 0)
  }
}
