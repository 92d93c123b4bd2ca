/// The tree of RFC 9162 section 2.1, whose root stands for a list of entries.
package struct MerkleTree: Sendable {
  /// The length of a hash in bytes.
  private static let hashBytes = LaneChain.digestBytes

  /// The hashes from the leaves up to the root, those of each level one behind the other.
  ///
  /// Each level pairs the hashes of the one below; the last one of an odd number moves up as it is.
  private let levels: [[UInt8]]

  /// Makes a tree of hashes that ``leaf(of:_:)`` has made.
  ///
  /// - Precondition: There is at least one.
  package init(leaves: [[UInt8]], _ hash: ReceiptHash) {
    guard let tree = MerkleTree(joined: Array(leaves.joined()), hash) else {
      preconditionFailure("a tree has at least one leaf, and each is a hash")
    }
    self = tree
  }

  /// The same of hashes that stand one behind the other; nil if these are none, or not whole.
  package init?(joined leaves: [UInt8], _ hash: ReceiptHash) {
    guard !leaves.isEmpty, leaves.count.isMultiple(of: Self.hashBytes) else { return nil }
    var levels = [leaves]
    while let below = levels.last, below.count > Self.hashBytes {
      var level: [UInt8] = []
      level.reserveCapacity((below.count / Self.hashBytes + 1) / 2 * Self.hashBytes)
      for place in stride(from: 0, to: below.count, by: 2 * Self.hashBytes) {
        let pair = below[place..<min(place + 2 * Self.hashBytes, below.count)]
        level += pair.count == Self.hashBytes ? Array(pair) : hash([1] + pair)
      }
      levels.append(level)
    }
    self.levels = levels
  }

  /// The hash of an entry: `00` stands before it, so that no entry can be taken for a node.
  package static func leaf(of entry: [UInt8], _ hash: ReceiptHash) -> [UInt8] {
    hash([0] + entry)
  }

  /// The number of leaves.
  package var size: Int { levels[0].count / Self.hashBytes }

  /// The hash that stands for all entries.
  package var root: [UInt8] { levels[levels.count - 1] }

  /// The hash of a leaf; nil if there is none at this place.
  package func leaf(at index: Int) -> [UInt8]? { Self.hash(index, in: levels[0]) }

  /// The hashes that lead from one leaf to the root, the lowest first (section 2.1.3.1).
  ///
  /// - Precondition: `index` is below ``size``.
  package func path(ofLeaf index: Int) -> [[UInt8]] {
    var place = index
    var path: [[UInt8]] = []
    for level in levels.dropLast() {
      if let sibling = Self.hash(place ^ 1, in: level) { path.append(sibling) }
      place >>= 1
    }
    return path
  }

  private static func hash(_ place: Int, in level: [UInt8]) -> [UInt8]? {
    guard place >= 0, place < level.count / hashBytes else { return nil }
    return Array(level[place * hashBytes..<(place + 1) * hashBytes])
  }

  private static func node(_ left: [UInt8], _ right: [UInt8], _ hash: ReceiptHash) -> [UInt8] {
    hash([1] + left + right)
  }

  /// The root to which a path leads from a leaf (section 2.1.3.2); nil if it cannot be a path of
  /// that leaf.
  package static func root(
    from leaf: [UInt8], index: Int, size: Int, path: [[UInt8]], _ hash: ReceiptHash
  ) -> [UInt8]? {
    guard index >= 0, index < size else { return nil }
    var (place, last, node) = (index, size - 1, leaf)
    for sibling in path {
      guard last > 0 else { return nil }
      if place & 1 == 1 || place == last {
        node = Self.node(sibling, node, hash)
        while place & 1 == 0, place > 0 { (place, last) = (place >> 1, last >> 1) }
      } else {
        node = Self.node(node, sibling, hash)
      }
      (place, last) = (place >> 1, last >> 1)
    }
    return last == 0 ? node : nil
  }
}
