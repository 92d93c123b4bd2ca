import JSON
import RelayCore

/// The last line of a page of a ledger, which signs for the rows before it; read and not verified.
package struct LedgerSignature: Sendable, Equatable {
  /// The lane.
  package let lane: LaneName
  /// The first number that was asked for.
  package let first: Int64
  /// The last number that it speaks for; below ``first`` if it speaks for none.
  package let last: Int64
  /// What is signed; nil if that is not of the kind that it has to be.
  package let text: SignedText?

  /// Whether a line is the last one of a page, and not one of its rows.
  package static func ends(_ line: JSONObject) -> Bool { line["jws"] != nil }

  /// Reads one; nil if it is none.
  package init?(_ line: JSONObject) {
    guard let client = try? line["client"]?.string(), let lane = try? line["lane"]?.string(),
      let first = line.laneNumber("first"), let last = try? line["last"]?.int64(),
      (first - 1...SignedReceipt.numberMax).contains(last), let jws = try? line["jws"]?.string()
    else { return nil }
    self.lane = LaneName(client: client, lane: lane)
    (self.first, self.last) = (first, last)
    text = SignedText(jws, type: LedgerPage.signedType)
  }

  /// The numbers that it speaks for; nil for none.
  package var numbers: SequenceRange? {
    first <= last ? SequenceRange(first: first, last: last) : nil
  }

  /// When it was signed, in milliseconds since 1970; nil if that is not said.
  package var atMs: Int64? { said.flatMap { try? $0["at"]?.int64() } }

  private var said: JSONObject? {
    guard let text else { return nil }
    return try? JSONValue.parse(text.payload).object()
  }

  /// What is signed of other rows, or says something else than the line does, in words; nil if all
  /// of it is right.
  ///
  /// The signature itself is verified by whoever knows the keys.
  package func fault(of entries: [LedgerEntry], _ hash: ReceiptHash) -> String? {
    guard let said, atMs != nil, (try? said["client"]?.string()) == lane.client,
      (try? said["lane"]?.string()) == lane.lane, said.laneNumber("first") == first,
      (try? said["last"]?.int64()) == last
    else { return "something else was signed than its last line says" }
    guard (try? said["size"]?.int64()) == Int64(entries.count),
      said.digest("root") == LedgerEntry.root(of: entries, in: lane, hash)
    else { return "its rows are not those that were signed" }
    var former = first - 1
    for entry in entries {
      guard former < entry.number, entry.number <= last else {
        return "its rows are not in order, or not within \(first) to \(last)"
      }
      former = entry.number
    }
    return nil
  }
}

/// A page of an evidence lane's ledger as a relay gives it, read and not verified.
struct SignedLedgerPage: Sendable, Equatable {
  /// It as it came.
  let bytes: [UInt8]
  let entries: [LedgerEntry]
  let signature: LedgerSignature

  /// The most rows that are asked for at a time.
  static let rowsMax = 200
  /// The most bytes of a page: some five times what so many rows take.
  private static let bytesMax = 1 << 18

  /// Reads one; nil if it is none.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.bytesMax else { return nil }
    self.bytes = bytes
    var entries: [LedgerEntry] = []
    var signature: LedgerSignature?
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard signature == nil, entries.count <= Self.rowsMax,
        let row = try? JSONValue.parse(Array(line)).object()
      else {
        return nil
      }
      guard LedgerSignature.ends(row) else {
        guard let entry = LedgerEntry(row) else { return nil }
        entries.append(entry)
        continue
      }
      guard let read = LedgerSignature(row) else { return nil }
      signature = read
    }
    guard let signature else { return nil }
    (self.entries, self.signature) = (entries, signature)
  }

  /// The row of a number; nil if there is none.
  func entry(of number: Int64) -> LedgerEntry? { entries.first { $0.number == number } }
}

extension LedgerEntry {
  /// Reads a row (`LedgerEntry` in `openapi.yaml`); nil if it is none.
  package init?(_ row: JSONObject) {
    guard let number = row.laneNumber("sequence"), let digest = row.digest("digest"),
      let link = row.digest("link"), let state = try? row["state"]?.string()
    else { return nil }
    guard state != "waiting" else {
      self.init(number: number, digest: digest, link: link, ending: nil)
      return
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
    self.init(
      number: number, digest: digest, link: link,
      ending: LedgerEntry.Ending(
        state: state, status: Int(status), responseDigest: response,
        at: WallTime(millisecondsSinceEpoch: at)))
  }
}

extension JSONObject {
  /// A number of a lane; nil if the member is none.
  package func laneNumber(_ name: StaticString) -> Int64? {
    guard let number = try? self[name]?.int64(), (1...SignedReceipt.numberMax).contains(number)
    else { return nil }
    return number
  }

  /// A SHA-256 in Base64 for URLs; nil if the member is none.
  package func digest(_ name: StaticString) -> [UInt8]? {
    guard let text = try? self[name]?.string(), let bytes = Base64URL.decode(text),
      bytes.count == LaneChain.digestBytes
    else { return nil }
    return bytes
  }
}
