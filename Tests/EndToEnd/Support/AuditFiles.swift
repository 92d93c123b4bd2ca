import Foundation
import JSON
import RelayCore

@testable import RelayServer

/// The files of an audit: an honest lane when it is made, and open to be tampered with.
///
/// What a relay signs is signed by the relay's own code, with the keys of a folder.
struct AuditFiles {
  /// A request as the upstream's record has it.
  struct Line {
    var number: Int64
    var body: String
    /// Members beside the usual ones, or in their place.
    var more: [String: any Sendable] = [:]
    /// Members that it lacks.
    var lacks: Set<String> = []

    init(_ number: Int64) { (self.number, body) = (number, "sale \(number)") }
  }

  let folder: TemporaryFolder
  let lane = LaneName(client: "till-1", lane: "sälés/1")
  /// The keys that sign receipts and pages.
  var signing: (receipts: ReceiptKeys, pages: ReceiptKeys)
  /// The keys that the auditor has.
  var shown: ReceiptKeys
  /// The type of what is signed for pages.
  var pageType = "waystation-ledger+jws"
  var rows: [LedgerEntry] = []
  var heads: [LaneHead] = []
  var requests: [Line] = []
  /// What each page speaks for.
  var pages: [SequenceRange] = []
  /// When the pages were signed.
  var pagesAt = Self.time
  /// The receipts that are signed by a relay that was put back: by their places, and how many
  /// receipts it has then.
  var restored: [Int: Int] = [:]
  /// Changes the text of a file before it is written.
  var edits: [String: @Sendable (String) -> String] = [:]
  private(set) var chain: LaneChain
  static let hash = ReceiptDesk.hash
  static let time = WallTime(millisecondsSinceEpoch: 1_793_383_200_123)

  init(begin: Int64 = 1) throws {
    folder = try TemporaryFolder()
    shown = try KeyFolder(folder.path + "/keys").takeUp(at: Self.time).keys
    signing = (shown, shown)
    chain = LaneChain(
      of: lane, incarnation: [UInt8](repeating: UInt8(begin), count: 16), at: begin, Self.hash)
  }

  var numbers: SequenceRange { SequenceRange(first: chain.begin, last: chain.last) }

  // MARK: - The lane

  /// What a receipt covers of a request.
  func digest(_ line: Line, upstream: String = "default") -> [UInt8] {
    let body = Array(line.body.utf8)
    let item = CoveredItem(
      client: lane.client, lane: lane.lane, number: line.number, key: "k-\(line.number)",
      upstream: upstream, method: "POST", path: Array("/sales?n=\(line.number)".utf8),
      headers: [("content-type", Array("text/plain".utf8))], bodyByteCount: Int64(body.count),
      bodyDigest: Self.hash(body))
    return Self.hash(item.bytes)
  }

  static func ending(_ state: EnvelopeState, status: Int = 201) -> LedgerEntry.Ending {
    LedgerEntry.Ending(
      state: state, status: status, responseDigest: Self.hash(Array("ok".utf8)), at: time)
  }

  /// Takes the next number, which ends in a state (nil: it waits), and comes at the upstream.
  mutating func take(
    _ state: EnvelopeState?, requests count: Int = 0, to upstream: String = "default"
  ) {
    let line = Line(chain.through + 1)
    let digest = digest(line, upstream: upstream)
    chain.take(digest, Self.hash)
    rows.append(
      LedgerEntry(
        number: line.number, digest: digest, link: chain.link,
        ending: state.map { Self.ending($0, status: $0 == .expired ? 0 : 201) }))
    requests += Array(repeating: line, count: count)
  }

  /// Gives the next number up.
  mutating func giveUp() { chain.pass(through: chain.through + 1) }

  /// Makes a receipt of what came so far.
  mutating func receipt() {
    heads.append(LaneHead(lane: lane, first: chain.last, chain: chain))
  }

  /// Has a new key sign pages.
  mutating func rotate() throws {
    _ = try KeyFolder(folder.path + "/keys").rotate(at: Self.time)
    shown = try KeyFolder(folder.path + "/keys").takeUp(at: Self.time).keys
    signing.pages = shown
  }

  /// The name of the present key.
  var kid: String { shown.kid }

  /// What the first key has signed of the second one.
  var endorsement: String? { shown.ring.keys.dropFirst().first?.endorsement }

  func place(_ number: Int64) -> Int {
    guard let place = rows.firstIndex(where: { $0.number == number }) else {
      preconditionFailure("there is a row of \(number)")
    }
    return place
  }

  /// Makes all links anew, so that only receipts disagree.
  mutating func relink() {
    var link = LaneChain(
      of: lane, incarnation: chain.incarnation, at: chain.begin, Self.hash
    ).link
    for index in rows.indices {
      link = LaneChain.link(after: link, rows[index].number, rows[index].digest, Self.hash)
      rows[index].link = link
    }
  }

  // MARK: - The files

  private func receipt(_ head: LaneHead, _ mark: inout ReceiptMark?) -> String {
    let rules = ReceiptRules(issuer: "\"https://relay.example\"", hash: Self.hash)
    // Other lanes of the same commit stand beside it.
    let other = LaneHead(
      lane: LaneName(client: "till-2", lane: "sales"), first: 1,
      chain: LaneChain(
        incarnation: head.chain.incarnation, begin: 1, last: 1, through: 1, link: head.chain.link))
    let group = ReceiptGroup(
      rules, of: [1, 2, 3], after: mark, heads: [other, head, other], at: Self.time)
    mark = group.mark
    let tree = MerkleTree(leaves: group.leaves, Self.hash)
    let view = ReceiptView(
      head, leaf: 1, path: tree.path(ofLeaf: 1),
      jws: signing.receipts.sign(type: "waystation-receipt+jws", payload: group.payload))
    var json = JSONWriter()
    view.write(to: &json)
    return String(decoding: json.finish(), as: UTF8.self)
  }

  private func page(_ numbers: SequenceRange) -> String {
    let entries = rows.filter { numbers.first <= $0.number && $0.number <= numbers.last }
    let root = Base64URL.encode(LedgerEntry.root(of: entries, in: lane, Self.hash))
    let range =
      #""client":"till-1","lane":"sälés/1","first":\#(numbers.first),"last":\#(numbers.last)"#
    let payload =
      #"{"iss":"https://relay.example","store":"010203",\#(range),"size":\#(entries.count),"#
      + #""root":"\#(root)","at":\#(pagesAt.millisecondsSinceEpoch)}"#
    let jws = signing.pages.sign(type: pageType, payload: Array(payload.utf8))
    return (entries.map(Self.line) + [#"{\#(range),"jws":"\#(jws)"}"#]).joined(separator: "\n")
  }

  private static func line(_ row: LedgerEntry) -> String {
    var json = JSONWriter()
    json.object { json in
      json.member("sequence", row.number)
      json.member("digest", Base64URL.encode(row.digest))
      json.member("link", Base64URL.encode(row.link))
      json.member("state", row.ending?.state.rawValue ?? "waiting")
      guard let ending = row.ending else { return }
      if ending.status > 0 { json.member("status", ending.status) }
      if ending.responseDigest != LedgerEntry.noDigest {
        json.member("response", Base64URL.encode(ending.responseDigest))
      }
      json.member("endedAt", ending.at.millisecondsSinceEpoch)
    }
    return String(decoding: json.finish(), as: UTF8.self)
  }

  private func line(_ request: Line) throws -> String {
    var line: [String: any Sendable] = [
      "sequence": request.number, "key": "k-\(request.number)",
      "path": "/sales?n=\(request.number)",
      "headers": ["Content-Type": "text/plain", "Waystation-Key": "k-\(request.number)"],
      "bodyBase64": Data(request.body.utf8).base64EncodedString(),
    ]
    line.merge(request.more) { $1 }
    return String(
      decoding: try Device.json(line.filter { !request.lacks.contains($0.key) }), as: UTF8.self)
  }

  /// The pages of the ledger.
  var ledger: String {
    (pages.isEmpty ? [numbers] : pages).map(page).joined(separator: "\n")
  }

  /// The relay's keys, as the auditor has them.
  var keys: String { String(decoding: shown.jwks, as: UTF8.self) }

  /// The receipts, each on a line.
  private var receipts: String {
    var marks: [ReceiptMark?] = [nil]
    return heads.enumerated().map { place, head in
      var mark = marks[restored[place] ?? place]
      defer { marks.append(mark) }
      return receipt(head, &mark)
    }.joined(separator: "\n")
  }

  /// Writes the files.
  func write() throws {
    let texts = [
      "keys.json": keys,
      "receipts": receipts,
      "ledger": ledger,
      "requests": try requests.map(line).joined(separator: "\n"),
    ]
    for (name, text) in texts { try folder.write(name, edits[name]?(text) ?? text) }
  }

  // MARK: - Auditing

  /// What a program said.
  struct Answer: Equatable {
    var ending: Ending
    var output: String
    var errors: String
  }

  /// Runs both programs on the files.
  func audit(
    _ more: [String] = [], isJSON: Bool = true
  ) async throws -> (command: Answer, example: Answer) {
    try write()
    var arguments = ["keys.json", "receipts", "ledger", "requests"].flatMap { name in
      ["--\(name.prefix { $0 != "." })", "\(folder.path)/\(name)"]
    }
    arguments += (isJSON ? ["--json"] : []) + more
    let command = try await Self.run(Waystation.path, ["audit-lane"] + arguments)
    let example = try await Self.run(
      "python3", [ShellDocument.repository + "/examples/audit.py"] + arguments)
    return (command, example)
  }

  private static func run(_ program: String, _ arguments: [String]) async throws -> Answer {
    let process = try ChildProcess(program, arguments)
    let ending = try await process.ending()
    return Answer(ending: ending, output: process.output, errors: process.errors)
  }
}
