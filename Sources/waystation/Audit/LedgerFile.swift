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

  private init(_ path: String, _ keys: TrustedKeys) {
    self.path = path
    self.keys = keys
  }

  /// Reads a file of pages, one behind the other.
  ///
  /// - Returns: The lane that they are of.
  static func read(
    _ path: String, _ keys: TrustedKeys, into evidence: inout LaneEvidence
  ) throws(AuditTrouble) -> LaneName {
    var reader = LedgerFile(path, keys)
    try AuditFile.forEachLine(of: path) { value, number throws(AuditTrouble) in
      try reader.take(value, number, &evidence)
    }
    guard let lane = reader.lane, reader.entries.isEmpty else {
      throw .unreadable(
        "\(path) \(reader.pages == 0 ? "has no page of a ledger" : "ends within a page")")
    }
    return lane
  }

  private mutating func take(
    _ value: JSONValue, _ number: Int, _ evidence: inout LaneEvidence
  ) throws(AuditTrouble) {
    guard let object = try? value.object() else {
      throw .unreadable("line \(number) of \(path) is no object")
    }
    guard let jws = object["jws"] else {
      guard let entry = Self.entry(object) else {
        throw .unreadable("line \(number) of \(path) is no row of a ledger")
      }
      return entries.append(entry)
    }
    guard let page = Page(object), let text = try? jws.string(),
      lane == nil || lane == page.lane
    else {
      throw .unreadable("line \(number) of \(path) ends no page of this lane's ledger")
    }
    lane = page.lane
    pages += 1
    let time = try verify(page, text)
    evidence.add(entries, speakingFor: page.numbers, at: time)
    entries.removeAll(keepingCapacity: true)
  }

  // MARK: - Rows

  /// Reads a row; nil if it is none.
  private static func entry(_ row: JSONObject) -> LedgerEntry? {
    guard let number = row.laneNumber("sequence"), let digest = row.digest("digest"),
      let link = row.digest("link"), let state = try? row["state"]?.string()
    else { return nil }
    guard state != "waiting" else {
      return LedgerEntry(number: number, digest: digest, link: link, ending: nil)
    }
    guard let state = EnvelopeState(rawValue: state), state.isEnd,
      let at = try? row["endedAt"]?.int64()
    else { return nil }
    var status: Int64 = 0
    if let value = row["status"] {
      guard let number = try? value.int64(), (0...999).contains(number) else { return nil }
      status = number
    }
    var response = LedgerEntry.noDigest
    if row["response"] != nil {
      guard let digest = row.digest("response") else { return nil }
      response = digest
    }
    return LedgerEntry(
      number: number, digest: digest, link: link,
      ending: LedgerEntry.Ending(
        state: state, status: Int(status), responseDigest: response,
        at: WallTime(millisecondsSinceEpoch: at)))
  }

  // MARK: - Pages

  /// What the last line of a page says.
  private struct Page {
    let lane: LaneName
    let first: Int64
    let last: Int64

    /// Reads one; nil if it is none.
    init?(_ line: JSONObject) {
      guard let client = try? line["client"]?.string(), let lane = try? line["lane"]?.string(),
        let first = line.laneNumber("first"), let last = try? line["last"]?.int64(),
        (first - 1...SignedReceipt.numberMax).contains(last)
      else { return nil }
      self.lane = LaneName(client: client, lane: lane)
      (self.first, self.last) = (first, last)
    }

    /// What it speaks for; nil for nothing.
    var numbers: SequenceRange? {
      first <= last ? SequenceRange(first: first, last: last) : nil
    }
  }

  /// Verifies that the rows, and what their last line says, are what was signed.
  ///
  /// - Returns: When they were signed.
  private func verify(_ page: Page, _ jws: String) throws(AuditTrouble) -> WallTime {
    func unproven(_ words: String) -> AuditTrouble { .unproven(.page, place: pages, words) }
    guard let text = SignedText(jws, type: LedgerPage.signedType) else {
      throw unproven("it is not signed as a page of a ledger is")
    }
    if let fault = keys.fault(of: text) { throw unproven(fault) }
    guard let said = try? JSONValue.parse(text.payload).object(),
      let at = try? said["at"]?.int64(), (try? said["client"]?.string()) == page.lane.client,
      (try? said["lane"]?.string()) == page.lane.lane, said.laneNumber("first") == page.first,
      (try? said["last"]?.int64()) == page.last
    else { throw unproven("something else was signed than its last line says") }
    guard (try? said["size"]?.int64()) == Int64(entries.count),
      said.digest("root") == LedgerEntry.root(of: entries, in: page.lane, ReceiptDesk.hash)
    else { throw unproven("its rows are not those that were signed") }
    var former = page.first - 1
    for entry in entries {
      guard former < entry.number, entry.number <= page.last else {
        throw unproven("its rows are not in order, or not within \(page.first) to \(page.last)")
      }
      former = entry.number
    }
    return WallTime(millisecondsSinceEpoch: at)
  }
}
