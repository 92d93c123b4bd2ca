import HTTPServer
import JSON
import RelayCore

/// `GET /v1/clients/{client}/lanes/{lane}/ledger`: what has become of each number of an evidence
/// lane, signed.
struct GetLedger {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(
    to request: HTTPRequest, _ captures: PathCaptures
  ) async throws(Problem) -> HTTPResponse {
    let client = captures.decoded("client") ?? ""
    guard context.caller.mayKnow(of: client) else { throw .unknownClient(client) }
    let parameters = try PageParameters(request.head.query, ["first", "last"])
    let first = max(1, try parameters.sequence("first") ?? 1)
    let last = try parameters.sequence("last") ?? .max
    guard first <= last else {
      throw .invalidField("last", "last is below first.", fix: "Give a last that is not below it.")
    }
    let lane = LaneName(client: client, lane: captures.decoded("lane") ?? "")
    let rules = context.rules.lanes.rules(ofLane: lane.lane)
    guard let keys = context.relay.receiptKeys,
      let issuer = context.relay.configuration.receipts?.issuer
    else { throw .noReceiptKeys() }
    let page = try await context.stored { () throws(StoreError) in
      try await context.store.ledger(of: lane, first...last, countMax: parameters.limit)
    }
    guard let page, rules.isEvidence || !page.entries.isEmpty else { throw .noLedger(lane) }
    let answer = LedgerAnswer(
      lane, page.entries, from: first, of: page.store, issuer: issuer, at: context.relay.now().wall)
    var response = HTTPResponse(status: 200, body: .bytes(answer.lines(signedBy: keys)))
    response.headers.add("Content-Type", "application/x-ndjson")
    response.headers.add("Cache-Control", "no-store")
    return response
  }
}

/// A page of a ledger as it is sent: a line for each entry, and one that signs them.
struct LedgerAnswer {
  private let lane: LaneName
  private let entries: [LedgerEntry]
  private let first: Int64
  private let last: Int64
  private let payload: [UInt8]

  /// Makes the answer of a page.
  ///
  /// It speaks for the numbers up to its last entry: nobody knows what comes behind that one.
  ///
  /// - Parameters:
  ///   - first: The first number that was asked for.
  ///   - store: The store's identity.
  init(
    _ lane: LaneName, _ entries: [LedgerEntry], from first: Int64, of store: [UInt8],
    issuer: String, at time: WallTime
  ) {
    self.lane = lane
    self.first = first
    self.entries = entries
    last = entries.last?.number ?? first - 1
    let root = LedgerEntry.root(of: entries, in: lane, ReceiptDesk.hash)
    var json = JSONWriter()
    json.object { [last] json in
      json.member("iss", issuer)
      json.member("store", Hexadecimal.encode(store))
      json.member("client", lane.client)
      json.member("lane", lane.lane)
      json.member("first", first)
      json.member("last", last)
      json.member("size", entries.count)
      json.member("root", Base64URL.encode(root))
      json.member("at", time.millisecondsSinceEpoch)
    }
    payload = json.finish()
  }

  /// The lines, each with its end.
  func lines(signedBy keys: ReceiptKeys) -> [UInt8] {
    var bytes: [UInt8] = []
    for entry in entries {
      var json = JSONWriter()
      entry.write(to: &json)
      bytes += json.finish() + [0x0A]
    }
    var json = JSONWriter()
    json.object { json in
      json.member("client", lane.client)
      json.member("lane", lane.lane)
      json.member("first", first)
      json.member("last", last)
      json.member("jws", keys.sign(type: "\(LedgerPage.signedType)", payload: payload))
    }
    return bytes + json.finish() + [0x0A]
  }
}

extension LedgerEntry {
  /// Writes it as an object (`LedgerEntry` in `openapi.yaml`).
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("sequence", number)
      json.member("digest", Base64URL.encode(digest))
      json.member("link", Base64URL.encode(link))
      json.member("state", ending?.state.rawValue ?? "waiting")
      guard let ending else { return }
      if ending.status > 0 { json.member("status", ending.status) }
      if ending.responseDigest != Self.noDigest {
        json.member("response", Base64URL.encode(ending.responseDigest))
      }
      json.member("endedAt", ending.at.millisecondsSinceEpoch)
    }
  }
}

extension Problem {
  fileprivate static func noLedger(_ lane: LaneName) -> Problem {
    Problem(
      .notFound, "There is no ledger of the lane \(lane.lane.quoted) of \(lane.client.quoted).",
      fix:
        "Ask the operator to make it an evidence lane, \"evidence\" in \"lanes\", and post in it.")
  }
}

extension PageParameters {
  /// A sequence number.
  fileprivate func sequence(_ name: String) throws(Problem) -> Int64? {
    guard let value = text(name) else { return nil }
    guard (1...18).contains(value.utf8.count),
      value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(value), number > 0
    else {
      throw .invalidField(
        name, "\(name) is \(value.quoted); it has to be a sequence number, from 1.")
    }
    return number
  }
}
