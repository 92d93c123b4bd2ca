import JSON
import RelayCore
import RelayServer
import WaystationOutbox

/// The receipts of a lane, verified.
struct LaneReceipts {
  /// What they say of the lane: at least one.
  private(set) var heads: [LaneHead] = []
  /// The one that was signed last.
  private(set) var newest: SignedReceipt?
  private let lane: LaneName
  private let keys: TrustedKeys

  /// Reads a file: one receipt, an answer that has some, or one of these on each line.
  ///
  /// Those of other lanes are left out.
  init(reading path: String, of lane: LaneName, _ keys: TrustedKeys) throws(AuditTrouble) {
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
    guard !heads.isEmpty else {
      throw .unreadable("\(path) has no receipt of \(lane.client)/\(lane.lane)")
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
    guard (try? value["client"]?.string()) == lane.client,
      (try? value["lane"]?.string()) == lane.lane
    else { return }
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
    heads.append(LaneHead(lane: lane, first: receipt.first, chain: receipt.chain))
    if newest.map({ $0.atMs <= receipt.atMs }) ?? true { newest = receipt }
  }
}
