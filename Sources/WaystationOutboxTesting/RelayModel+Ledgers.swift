import JSON
import RelayCore
import WaystationOutbox

/// A lie of a relay in its ledgers.
public enum LedgerLie: Sendable, Hashable, CaseIterable {
  /// A row is left out.
  case leftOut
  /// A row has something else than the relay was given.
  case changed
  /// What is signed are other rows.
  case otherRows
  /// The signature is of something else.
  case badSignature
  /// It signs with a key that nobody knows.
  case unknownKey
  /// The page is of another lane.
  case otherLane
}

extension RelayModel {
  /// The lanes of which the relay keeps ledgers; it signs them as it does its receipts.
  package var evidenceLanes: Set<String> {
    get { receipts?.evidenceLanes ?? [] }
    set { receipts?.evidenceLanes = newValue }
  }

  /// How the relay lies in its ledgers; nil if it does not.
  package var ledgerLie: LedgerLie? {
    get { receipts?.ledgerLie }
    set { receipts?.ledgerLie = newValue }
  }

  /// Answers `GET /v1/clients/{client}/lanes/{lane}/ledger`.
  func ledger(_ name: String, query: Substring) -> Response {
    guard let receipts, receipts.evidenceLanes.contains(name), let lane = lanesByName[name] else {
      return problem(404, "not-found", "there is no ledger of the lane")
    }
    var numbers: [Substring: Int64] = [:]
    for field in query.split(separator: "&") {
      let parts = field.split(separator: "=")
      if parts.count == 2 { numbers[parts[0]] = Int64(parts[1]) }
    }
    let first = numbers["first"] ?? 1
    let limit = Int(numbers["limit"] ?? 50)
    let rows = rows(of: lane, receipts.chains[name]?.chain, as: name).filter {
      $0.number >= first && $0.number <= numbers["last"] ?? .max
    }
    return receipts.answer(Array(rows.prefix(limit)), from: first, of: name)
  }

  /// All rows of a lane.
  private func rows(of lane: Lane, _ stored: LaneChain?, as name: String) -> [LedgerEntry] {
    guard let stored else { return [] }
    var chain = LaneChain(
      of: LaneName(client: receipts?.client ?? "", lane: name), incarnation: stored.incarnation,
      at: stored.begin, ModelReceipts.hash)
    var rows: [LedgerEntry] = []
    for (number, key) in lane.keys.sorted(by: { $0.key < $1.key })
    where number >= stored.begin && number <= stored.last {
      guard let envelope = envelopes[key], !envelope.digest.isEmpty else { continue }
      chain.pass(through: Int64(number) - 1)
      chain.take(envelope.digest, ModelReceipts.hash)
      rows.append(
        LedgerEntry(
          number: Int64(number), digest: envelope.digest, link: chain.link,
          ending: ending(of: envelope)))
    }
    return rows
  }

  private func ending(of envelope: Envelope) -> LedgerEntry.Ending? {
    guard envelope.state.isOver, let state = EnvelopeState(rawValue: envelope.state.rawValue)
    else { return nil }
    return LedgerEntry.Ending(
      state: state, status: envelope.status ?? 0,
      responseDigest: ModelReceipts.hash(Array(envelope.answer.utf8)),
      at: WallTime(millisecondsSinceEpoch: wallMs))
  }
}

extension ModelReceipts {
  /// A page with these rows.
  fileprivate func answer(_ kept: [LedgerEntry], from first: Int64, of lane: String) -> Response {
    let rows = told(kept)
    let said = LaneName(client: client, lane: ledgerLie == .otherLane ? lane + "-2" : lane)
    let last = rows.last?.number ?? first - 1
    var payload = JSONWriter()
    payload.object { json in
      json.member("iss", "http://relay")
      json.member("store", "07070707070707070707070707070707")
      json.member("client", said.client)
      json.member("lane", said.lane)
      json.member("first", first)
      json.member("last", last)
      json.member("size", rows.count)
      let signed = ledgerLie == .otherRows ? Array(rows.dropLast()) : rows
      json.member("root", Base64URL.encode(LedgerEntry.root(of: signed, in: said, Self.hash)))
      json.member("at", 1)
    }
    let jws = sign(payload.finish())
    var body: [UInt8] = []
    for row in rows { body += Self.line(row) }
    var json = JSONWriter()
    json.object { json in
      json.member("client", said.client)
      json.member("lane", said.lane)
      json.member("first", first)
      json.member("last", last)
      json.member("jws", jws)
    }
    body += json.finish() + [0x0A]
    return Response(
      status: 200, headers: [("Content-Type", "application/x-ndjson")], body: body)
  }

  /// The rows as the relay says that they are: every second one is lied about.
  private func told(_ rows: [LedgerEntry]) -> [LedgerEntry] {
    switch ledgerLie {
    case .leftOut: return rows.filter { $0.number % 2 == 1 }
    case .changed:
      return rows.map { row in
        var changed = row
        if row.number % 2 == 0 { changed.digest = Self.hash(row.digest) }
        return changed
      }
    default: return rows
    }
  }

  private func sign(_ page: [UInt8]) -> String {
    let key = ledgerLie == .unknownKey ? TestKey(98) : keys[keys.count - 1]
    let text = key.sign(type: "waystation-ledger+jws", page)
    return ledgerLie == .badSignature ? text.dropLast(4) + "AAAA" : text
  }

  private static func line(_ row: LedgerEntry) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("sequence", row.number)
      json.member("digest", Base64URL.encode(row.digest))
      json.member("link", Base64URL.encode(row.link))
      json.member("state", row.ending?.state.rawValue ?? "waiting")
      guard let ending = row.ending else { return }
      if ending.status > 0 { json.member("status", ending.status) }
      json.member("response", Base64URL.encode(ending.responseDigest))
      json.member("endedAt", ending.at.millisecondsSinceEpoch)
    }
    return json.finish() + [0x0A]
  }
}
