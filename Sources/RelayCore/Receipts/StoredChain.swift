/// A lane's chain as a store keeps it, with the place of its head among the receipts.
package struct StoredChain: Sendable, Equatable {
  /// The chain.
  package var chain: LaneChain
  /// The first number that its last commit added.
  package var first: Int64
  /// The number of the group that has the head.
  package var group: Int64
  /// The head's place among the leaves of the group.
  package var leaf: Int
  /// Whether a ledger has each of the chain's numbers.
  package var hasLedger: Bool

  /// Puts together a chain and its place.
  package init(
    chain: LaneChain, first: Int64, group: Int64, leaf: Int, hasLedger: Bool = false
  ) {
    self.hasLedger = hasLedger
    self.chain = chain
    self.first = first
    self.group = group
    self.leaf = leaf
  }

  /// The form of the bytes, of a chain without a ledger and of one with it.
  private static let versions: (plain: UInt8, ledger: UInt8) = (1, 2)
  /// Beyond these is nothing that was counted.
  private static let numbers: ClosedRange<Int64> = 1...1 << 60
  private static let byteCount =
    1 + LaneChain.incarnationBytes + 5 * 8 + LaneChain.digestBytes + 4

  /// It as bytes, for a column of the lane.
  package var bytes: [UInt8] {
    var bytes = ReceiptBytes(byte: hasLedger ? Self.versions.ledger : Self.versions.plain)
    bytes.add(chain.incarnation)
    bytes.add(chain.begin)
    bytes.add(chain.last)
    bytes.add(chain.through)
    bytes.add(chain.link)
    bytes.add(first)
    bytes.add(group)
    bytes.add(UInt32(leaf))
    return bytes.bytes
  }

  /// Reads what ``bytes`` has made; nil if it is anything else.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount,
      bytes[0] == Self.versions.plain || bytes[0] == Self.versions.ledger
    else { return nil }
    hasLedger = bytes[0] == Self.versions.ledger
    var rest = bytes.dropFirst()
    func take(_ count: Int) -> [UInt8] {
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    func number(_ count: Int) -> Int64 {
      // Kept small, so that nothing overflows that is damaged.
      min(Int64(truncatingIfNeeded: take(count).reduce(0) { $0 << 8 | UInt64($1) }), 1 << 61)
    }
    let incarnation = take(LaneChain.incarnationBytes)
    let (begin, last, through) = (number(8), number(8), number(8))
    chain = LaneChain(
      incarnation: incarnation, begin: begin, last: last, through: through,
      link: take(LaneChain.digestBytes))
    first = number(8)
    group = number(8)
    leaf = Int(number(4))
    let numbers = [begin, last + 1, through, first, group]
    guard numbers.allSatisfy({ Self.numbers.contains($0) }), last <= through else { return nil }
  }
}
