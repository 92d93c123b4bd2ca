import JSON
import RelayCore
import WaystationOutbox

/// A lie of a relay that makes receipts.
public enum RelayLie: Sendable, Hashable, CaseIterable {
  /// It signs as if an item had not come.
  case dropped
  /// The same, and it says that it had waited for the item's number no more.
  case passedBy
  /// It signs as if two items had come in the other order.
  case swapped
  /// It signs for another body.
  case changed
  /// It signs with a key that nobody knows.
  case unknownKey
  /// The signature is of something else.
  case badSignature
  /// The way to the root leads elsewhere.
  case badPath
  /// It shows another history than before.
  case forked
}

/// The receipts of a relay in memory: made as a relay makes them.
struct ModelReceipts: Sendable {
  /// The keys, the oldest first; the last one signs.
  var keys = [TestKey(1)]
  var lie: RelayLie?
  /// The lanes with ledgers, and the lie in them.
  var evidenceLanes: Set<String> = []
  var ledgerLie: LedgerLie?
  var open = OpenChains()
  var chains: [String: StoredChain] = [:]
  var groups: [Int64: ReceiptGroup] = [:]
  var former: ReceiptMark?
  /// Grows for good, also where a relay is put back.
  var entropy: UInt64 = 0
  /// Whose receipts they are.
  var client = "device"
  /// What the commit adds to the chains.
  private var added: [Added] = []

  /// What has come under a number.
  enum Came: Sendable {
    /// An item, with its digest.
    case item([UInt8])
    /// An item that was accepted before there were receipts.
    case unknown
    /// Nothing: the number is passed by.
    case nothing

    /// What an envelope is to the chains.
    init(_ envelope: RelayModel.Envelope?) {
      guard let envelope else {
        self = .nothing
        return
      }
      self = envelope.digest.isEmpty ? .unknown : .item(envelope.digest)
    }
  }

  /// A number that comes next in its lane's chain.
  private struct Added {
    let number: Int64
    var came: Came
    let lane: String
    let place: Int

    var digest: [UInt8]? { if case .item(let digest) = came { digest } else { nil } }
  }

  static let hash: ReceiptHash = { TestSHA256.digest($0) }
  private static let store = [UInt8](repeating: 7, count: 16)
  private static let rules = ReceiptRules(issuer: #""http://relay""#, hash: hash)

  /// The number under which a lane stands here.
  private func number(_ place: Int) -> LaneNumber { LaneNumber(rawValue: Int64(place) + 1) }

  /// The number that a lane comes to next.
  mutating func add(_ number: UInt64, _ came: Came, _ lane: String, _ place: Int) {
    added.append(Added(number: Int64(number), came: came, lane: lane, place: place))
  }

  /// What is added, as the relay says it was.
  private func told() -> [Added] {
    var told = added
    for place in told.indices {
      guard let digest = told[place].digest else { continue }
      switch lie {
      case .dropped where told[place].number % 2 == 0: told[place].came = .nothing
      case .passedBy where told[place].number % 2 == 0: told[place].came = .nothing
      case .changed: told[place].came = .item(Self.hash(digest))
      case .swapped where told[place].number % 2 == 0 && place > 0:
        guard told[place - 1].lane == told[place].lane else { continue }
        told[place].came = told[place - 1].came
        told[place - 1].came = .item(digest)
      default: break
      }
    }
    return told
  }

  private mutating func takeAdded() {
    for entry in told() {
      let number = number(entry.place)
      if !open.isOpen(number) {
        open.open(
          number, LaneName(client: client, lane: entry.lane), chains[entry.lane], Self.rules)
      }
      if case .nothing = entry.came {
        open.pass(SequenceRange(first: entry.number, last: entry.number), in: number)
        continue
      }
      var word = entropy
      let came = entry.digest.map { LinkedEnvelope(serial: 0, digest: $0) }
      open.take(entry.number, came, in: number, Self.hash) {
        word += 1
        return Array(Self.hash(Array("incarnation \(word)".utf8)).prefix(16))
      }
      entropy = word
    }
    added = []
  }

  /// Ends a commit.
  mutating func commit(_ lanes: [String], at wallMs: Int64) {
    takeAdded()
    guard !open.isEmpty else { return }
    let closed = open.close(
      Self.rules, of: Self.store, after: former, at: WallTime(millisecondsSinceEpoch: wallMs))
    if let group = closed.group {
      former = group.mark
      groups[group.number] = group
    }
    for (number, chain) in closed.chains { chains[lanes[Int(number.rawValue) - 1]] = chain }
  }

  // MARK: - What is told

  /// A lane's latest receipt, if it has one.
  func write(_ lane: String, to json: inout JSONWriter) {
    guard let stored = chains[lane], let group = groups[stored.group] else { return }
    var path = MerkleTree(leaves: group.leaves, Self.hash).path(ofLeaf: stored.leaf)
    if lie == .badPath { path.append(Self.hash([0])) }
    json.object { json in
      json.member("client", client)
      json.member("lane", lane)
      json.member("incarnation", Base64URL.encode(stored.chain.incarnation))
      json.member("begin", stored.chain.begin)
      json.member("first", stored.first)
      json.member("last", stored.chain.last)
      json.member("link", Base64URL.encode(stored.chain.link))
      json.member("leaf", stored.leaf)
      json.memberArray("path") { json in for hash in path { json.string(Base64URL.encode(hash)) } }
      json.member("jws", sign(group))
    }
  }

  private func sign(_ group: ReceiptGroup) -> String {
    let key = lie == .unknownKey ? TestKey(99) : keys[keys.count - 1]
    var payload = group.payload
    if lie == .forked {
      // The same commit, said to have been at another time.
      payload = Array(
        String(decoding: payload, as: UTF8.self).replacing(#""at":"#, with: #""at":1"#).utf8)
    }
    let text = key.sign(type: "waystation-receipt+jws", payload)
    return lie == .badSignature ? text.dropLast(4) + "AAAA" : text
  }

  /// The keys, as they are published.
  var keySet: [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.memberArray("keys") { json in
        for (place, key) in keys.enumerated() {
          json.object { json in
            json.member("kty", "OKP")
            json.member("crv", "Ed25519")
            json.member("x", key.text)
            json.member("kid", key.id)
            if place > 0 {
              json.member(
                "endorsement",
                keys[place - 1].sign(
                  type: "waystation-key+jws", Array(TestKey.members(key.text).utf8)))
            }
          }
        }
      }
    }
    return json.finish()
  }
}

extension RelayModel {
  /// Whether the relay makes receipts.
  package var makesReceipts: Bool {
    get { receipts != nil }
    set { receipts = newValue ? receipts ?? ModelReceipts() : nil }
  }

  /// How the relay lies in its receipts; nil if it does not.
  package var lie: RelayLie? {
    get { receipts?.lie }
    set { receipts?.lie = newValue }
  }

  /// Signs with another key from now on; see ``ScriptedRelay/rotateKeys(forgets:)``.
  package mutating func rotateKeys(forgets: Bool = false) {
    let next = TestKey((receipts?.keys.count ?? 0) + (forgets ? 50 : 1))
    if forgets { receipts?.keys = [] }
    receipts?.keys.append(next)
  }

  /// The link of all that has come in a lane, for the chain that a receipt speaks of.
  package func link(of name: String, as receipt: String) -> [UInt8]? {
    guard let object = try? JSONValue.parse(Array(receipt.utf8)).object(),
      let begin = try? object["begin"]?.int64(), let last = try? object["last"]?.int64(),
      let text = try? object["incarnation"]?.string(), let lane = lanesByName[name],
      let incarnation = Base64URL.decode(text)
    else { return nil }
    var chain = LaneChain(
      of: LaneName(client: "device", lane: name), incarnation: incarnation, at: begin,
      ModelReceipts.hash)
    for number in begin...last {
      guard let key = lane.keys[UInt64(number)], let envelope = envelopes[key] else { continue }
      chain.pass(through: number - 1)
      chain.take(envelope.digest, ModelReceipts.hash)
    }
    return chain.link
  }

  /// What a receipt covers of an envelope.
  static func digest(
    client: String, key: String, lane: String, sequence: UInt64, upstream: String?, method: String?,
    path: String,
    type: String?, body: [UInt8]
  ) -> [UInt8] {
    let headers = type.map { [(name: "content-type", value: Array($0.utf8))] } ?? []
    let item = CoveredItem(
      client: client, lane: lane, number: Int64(sequence), key: key,
      upstream: upstream ?? "default", method: method ?? "POST", path: Array(path.utf8),
      headers: headers, bodyByteCount: Int64(body.count), bodyDigest: TestSHA256.digest(body))
    return TestSHA256.digest(item.bytes)
  }
}
