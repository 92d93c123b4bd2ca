import Cryptography
import EventLoop
import JSON
import RelayCore
import Synchronization

/// Makes the receipts that senders ask for, out of what the store has.
///
/// Each group is signed once, by whoever asks first, and never before its commit is on disk. The
/// signatures are not stored: Ed25519 gives the same one each time.
package final class ReceiptDesk: Sendable {
  /// A group that was signed.
  private struct SignedGroup: Sendable {
    var jws: String
    var tree: MerkleTree
  }

  /// The most groups that are remembered.
  private static let groupsMax = 32

  /// The most receipts of one answer; those of other lanes are asked for one by one.
  package static let receiptsMax = 32
  /// The most lanes that are looked at for one answer.
  private static let looksMax = 256

  private let store: any EnvelopeStore
  private let signed = Mutex<(keyID: String, groups: [Int64: SignedGroup])>(("", [:]))
  private let signatures = Mutex(Histogram(.signatureMicroseconds))

  /// Serves what a store has.
  package init(_ store: any EnvelopeStore) { self.store = store }

  /// How long the signatures of groups took since the start, in microseconds.
  var signatureTimes: Histogram { signatures.withLock { $0 } }

  /// The latest receipt of a lane, signed with these keys; nil if there is none.
  package func receipt(
    of lane: LaneName, by keys: ReceiptKeys
  ) async throws(StoreError) -> ReceiptView? {
    guard let stored = try await store.chain(of: lane),
      let group = try await group(stored.group, keys)
    else { return nil }
    let head = LaneHead(lane: lane, first: stored.first, chain: stored.chain)
    // Else one of the two is damaged, and it would prove nothing.
    guard group.tree.leaf(at: stored.leaf) == MerkleTree.leaf(of: head.bytes, Self.hash) else {
      return nil
    }
    return ReceiptView(
      head, leaf: stored.leaf, path: group.tree.path(ofLeaf: stored.leaf), jws: group.jws)
  }

  /// The latest receipts of some lanes, in their order, each once; those that have none are left
  /// out, and those beyond ``receiptsMax``.
  ///
  /// Trouble with the store leaves all of them out: what was posted is stored all the same.
  package func receipts(
    of lanes: some Sequence<LaneName>, by keys: ReceiptKeys
  ) async -> [ReceiptView] {
    var seen: Set<LaneName> = []
    var receipts: [ReceiptView] = []
    for lane in lanes where seen.insert(lane).inserted {
      guard receipts.count < Self.receiptsMax, seen.count <= Self.looksMax else { break }
      do throws(StoreError) {
        if let receipt = try await receipt(of: lane, by: keys) { receipts.append(receipt) }
      } catch {
        return []
      }
    }
    return receipts
  }

  private func group(
    _ number: Int64, _ keys: ReceiptKeys
  ) async throws(StoreError) -> SignedGroup? {
    let known = signed.withLock { $0.keyID == keys.kid ? $0.groups[number] : nil }
    if let known { return known }
    guard let stored = try await store.receiptGroup(number), !stored.payload.isEmpty,
      let tree = MerkleTree(joined: stored.leaves, Self.hash)
    else { return nil }
    let new = SignedGroup(jws: sign(stored.payload, keys), tree: tree)
    signed.withLock { signed in
      if signed.keyID != keys.kid || signed.groups.count >= Self.groupsMax {
        signed = (keys.kid, [:])
      }
      signed.groups[number] = new
    }
    return new
  }

  private func sign(_ payload: [UInt8], _ keys: ReceiptKeys) -> String {
    let begin = MonotonicClock.now()
    let jws = keys.sign(type: "waystation-receipt+jws", payload: payload)
    let tookUs = (MonotonicClock.now().nanoseconds - begin.nanoseconds) / 1000
    signatures.withLock { $0.observe(tookUs) }
    return jws
  }

  /// SHA-256, as the store is to take it.
  package static let hash: ReceiptHash = { SHA256.digest(of: $0) }
}

/// A receipt as its sender gets it (`Receipt` in `openapi.yaml`).
package struct ReceiptView: Sendable, Equatable {
  /// The lane that it is of.
  package var lane: LaneName { head.lane }

  private let head: LaneHead
  private let leaf: Int
  private let path: [[UInt8]]
  private let jws: String

  init(_ head: LaneHead, leaf: Int, path: [[UInt8]], jws: String) {
    self.head = head
    self.leaf = leaf
    self.path = path
    self.jws = jws
  }

  /// Whether it speaks for a number.
  package func covers(_ number: Int64) -> Bool {
    head.chain.begin <= number && number <= head.chain.last
  }

  /// Writes it as an object.
  package func write(to json: inout JSONWriter) {
    let chain = head.chain
    json.object { json in
      json.member("client", head.lane.client)
      json.member("lane", head.lane.lane)
      json.member("incarnation", Base64URL.encode(chain.incarnation))
      json.member("begin", chain.begin)
      json.member("first", head.first)
      json.member("last", chain.last)
      json.member("link", Base64URL.encode(chain.link))
      json.member("leaf", leaf)
      json.memberArray("path") { json in
        for hash in path { json.string(Base64URL.encode(hash)) }
      }
      json.member("jws", jws)
    }
  }
}
