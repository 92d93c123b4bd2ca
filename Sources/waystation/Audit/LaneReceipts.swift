import JSON
import RelayCore
import RelayServer
import WaystationOutbox

/// The receipts of a lane, verified.
struct LaneReceipts {
  /// They, at least one.
  private(set) var signed: [SignedReceipt] = []
  /// The one that was signed last.
  private(set) var newest: SignedReceipt?
  /// A lane of which the file has a receipt as well.
  private var other: String?
  private let lane: LaneName
  private let keys: TrustedKeys

  /// Reads a file: one receipt, an answer that has some, or one of these on each line.
  ///
  /// Those of other lanes are left out.
  ///
  /// - Parameter ledger: The file that says which lane it is.
  init(
    reading path: String, of lane: LaneName, in ledger: String, _ keys: TrustedKeys
  ) throws(AuditTrouble) {
    self.lane = lane
    self.keys = keys
    let bytes = try AuditFile.read(path)
    var place = 0
    for document in try Self.documents(bytes, path) {
      for value in Self.receipts(in: document) {
        place += 1
        try take(value, place, path)
      }
    }
    guard signed.isEmpty else { return }
    throw .unreadable(
      "\(ledger) is the ledger of \(lane.client)/\(lane.lane), and \(path) has no receipt of that"
        + " lane" + (other.map { ", but of \($0)" } ?? ""))
  }

  /// What they say of the lane.
  var heads: [LaneHead] {
    signed.map { LaneHead(lane: lane, first: $0.first, chain: $0.chain) }
  }

  /// Why not all of them can be true; nil if they can.
  var fault: LaneAudit.Fault? {
    SignedReceipt.contradiction(among: signed, ReceiptDesk.hash).map {
      LaneAudit.Fault($0.numbers, .twoHistories, group: $0.group)
    }
  }

  private static func documents(
    _ bytes: [UInt8], _ path: String
  ) throws(AuditTrouble) -> [JSONValue] {
    if let whole = try? JSONValue.parse(bytes) { return [whole] }
    var documents: [JSONValue] = []
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    where !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) {
      guard let document = try? JSONValue.parse(Array(line)) else {
        throw .unreadable("\(path) is no JSON, and neither is line \(index + 1) of it")
      }
      documents.append(document)
    }
    return documents
  }

  /// The receipts in an answer, or it itself.
  private static func receipts(in document: JSONValue) -> [JSONValue] {
    if let list = try? document["receipts"]?.array() { return Array(list) }
    return [document["receipt"] ?? document]
  }

  private mutating func take(
    _ value: JSONValue, _ place: Int, _ path: String
  ) throws(AuditTrouble) {
    guard let text = try? value["jws"]?.string() else {
      throw .unreadable("\(path): number \(place) of it is no receipt")
    }
    let name = LaneName(
      client: (try? value["client"]?.string()) ?? "", lane: (try? value["lane"]?.string()) ?? "")
    guard name == lane else {
      other = other ?? "\(name.client)/\(name.lane)"
      return
    }
    func unproven(_ words: String) -> AuditTrouble { .unproven(.receipt, place: place, words) }
    guard SignedText(text, type: SignedReceipt.type) != nil else {
      throw unproven("it is not signed as a receipt is")
    }
    guard let receipt = SignedReceipt(value) else {
      throw .unreadable("\(path): number \(place) of it is no receipt")
    }
    if let fault = keys.fault(of: receipt.text) { throw unproven(fault) }
    guard receipt.isUnderRoot(ReceiptDesk.hash) else {
      throw unproven("the head of the lane is not under the root that was signed")
    }
    signed.append(receipt)
    if newest.map({ $0.atMs <= receipt.atMs }) ?? true { newest = receipt }
  }
}
