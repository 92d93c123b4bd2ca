import JSON
import RelayCore

/// A receipt as the relay gives it (`Receipt` in `openapi.yaml`), read and not verified.
package struct SignedReceipt: Sendable, Equatable {
  /// It as it came.
  let json: [UInt8]
  /// The client's name.
  package let client: String
  /// The lane's name within the client.
  package let lane: String
  /// The chain as the relay has it.
  package let chain: LaneChain
  /// The first number of the lane's commit.
  package let first: Int64
  /// The head's place in the tree, and the way from there to the root.
  let leaf: Int
  let path: [[UInt8]]
  /// What is signed.
  package let text: SignedText
  /// The store that has signed, and the number of the commit in it.
  package let store: String
  let group: Int64
  /// The hash of the commit before; nil if there is none.
  let former: [UInt8]?
  /// The tree.
  let size: Int
  let root: [UInt8]
  /// When, in milliseconds since 1970.
  package let atMs: Int64

  /// The greatest number of a lane: what JSON's numbers can tell apart (openapi.yaml).
  package static let numberMax: Int64 = 9_007_199_254_740_991
  /// The most hashes of a path: a tree of 2^63 leaves has no more.
  private static let pathMax = 63

  /// The type of what is signed.
  package static let type: StaticString = "waystation-receipt+jws"

  /// Reads one; nil if it is none.
  package init?(_ value: JSONValue) {
    guard let object = try? value.object(), let jws = try? object["jws"]?.string(),
      let text = SignedText(jws, type: Self.type),
      let said = try? JSONValue.parse(text.payload).object(),
      let client = try? object["client"]?.string(), let lane = try? object["lane"]?.string(),
      let leaf = Self.number(object["leaf"]), let size = Self.number(said["size"]),
      let list = try? object["path"]?.array(),
      let store = try? said["store"]?.string(), let group = Self.number(said["group"]),
      let root = Self.digest(said["root"]), let atMs = Self.number(said["at"]),
      let (chain, first) = Self.chain(object)
    else { return nil }
    var path: [[UInt8]] = []
    for element in list {
      guard path.count < Self.pathMax, let hash = Self.digest(element) else { return nil }
      path.append(hash)
    }
    json = Array(value.raw)
    (self.client, self.lane, self.chain, self.first) = (client, lane, chain, first)
    (self.leaf, self.path, self.text) = (Int(leaf), path, text)
    (self.store, self.group, self.size, self.root) = (store, group, Int(size), root)
    self.atMs = atMs
    former = Self.digest(said["prev"])
    if said["prev"] != nil, former == nil { return nil }
  }

  private static func chain(_ object: JSONObject) -> (LaneChain, Int64)? {
    guard let incarnation = bytes(object["incarnation"], LaneChain.incarnationBytes),
      let link = digest(object["link"]), let begin = number(object["begin"]),
      let first = number(object["first"]), let last = number(object["last"]),
      begin >= 1, first >= begin, last >= first, last <= numberMax
    else { return nil }
    return (
      LaneChain(incarnation: incarnation, begin: begin, last: last, through: last, link: link),
      first
    )
  }

  private static func number(_ value: JSONValue?) -> Int64? {
    guard let value, let number = try? value.int64(), number >= 0 else { return nil }
    return number
  }

  private static func digest(_ value: JSONValue?) -> [UInt8]? {
    bytes(value, LaneChain.digestBytes)
  }

  private static func bytes(_ value: JSONValue?, _ count: Int) -> [UInt8]? {
    guard let value, let text = try? value.string(), let bytes = Base64URL.decode(text),
      bytes.count == count
    else { return nil }
    return bytes
  }

  /// Whether the lane's head is under the root.
  package func isUnderRoot(_ hash: ReceiptHash) -> Bool {
    let head = LaneHead(lane: LaneName(client: client, lane: lane), first: first, chain: chain)
    let leaf = MerkleTree.leaf(of: head.bytes, hash)
    return MerkleTree.root(from: leaf, index: self.leaf, size: size, path: path, hash) == root
  }
}

/// What an answer says of one lane's receipt.
struct ToldReceipt: Sendable {
  let lane: String
  /// nil if it cannot be read.
  let receipt: SignedReceipt?

  /// Reads an element of `receipts`; nil if it does not even name a lane.
  init?(_ value: JSONValue) {
    guard let lane = try? value.object()["lane"]?.string() else { return nil }
    self.lane = lane
    receipt = SignedReceipt(value)
  }

  /// Reads the answer to a post of one envelope; nil if it has no receipt.
  init?(body: [UInt8]) {
    guard let answer = try? JSONValue.parse(body).object(), let value = answer["receipt"] else {
      return nil
    }
    self.init(value)
  }
}
