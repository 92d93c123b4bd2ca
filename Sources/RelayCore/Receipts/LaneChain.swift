/// The chain of a lane: each number's digest is hashed together with all before it.
///
/// So the link of one number speaks for every lower one. A chain begins at a number with an
/// incarnation, which is random: a lane that was lost and begins anew has another one.
package struct LaneChain: Sendable, Equatable {
  /// The length of an incarnation in bytes.
  package static let incarnationBytes = 16
  /// The length of a digest and of a link in bytes.
  package static let digestBytes = 32

  /// The random bytes that the chain began with.
  package let incarnation: [UInt8]
  /// The first number that the chain covers.
  package let begin: Int64
  /// The last number that it covers; ``begin`` less one before there is any.
  package private(set) var last: Int64
  /// The number that it has come to: above ``last`` where nothing came under the last ones, and
  /// nobody waits for them.
  package private(set) var through: Int64
  /// The link of ``last``.
  package private(set) var link: [UInt8]

  /// Begins a chain of a lane.
  ///
  /// - Parameter number: The first number that it is to cover.
  package init(
    of lane: LaneName, incarnation: [UInt8], at number: Int64, _ hash: ReceiptHash
  ) {
    var bytes = ReceiptBytes("waystation.lane.v1")
    bytes.add(counted: lane.client.utf8)
    bytes.add(counted: lane.lane.utf8)
    bytes.add(incarnation)
    bytes.add(number)
    self.init(
      incarnation: incarnation, begin: number, last: number - 1, through: number - 1,
      link: hash(bytes.bytes))
  }

  /// Puts together a chain that was stored.
  package init(
    incarnation: [UInt8], begin: Int64, last: Int64, through: Int64, link: [UInt8]
  ) {
    self.incarnation = incarnation
    self.begin = begin
    self.last = last
    self.through = through
    self.link = link
  }

  /// Adds the next number, with the digest of what came under it.
  package mutating func take(_ digest: [UInt8], _ hash: ReceiptHash) {
    through += 1
    last = through
    link = Self.link(after: link, last, digest, hash)
  }

  /// The link of a number, by the one before it.
  package static func link(
    after former: [UInt8], _ number: Int64, _ digest: [UInt8], _ hash: ReceiptHash
  ) -> [UInt8] {
    var bytes = ReceiptBytes(byte: 1)
    bytes.add(former)
    bytes.add(number)
    bytes.add(digest)
    return hash(bytes.bytes)
  }

  /// Passes numbers up to one by, under which nothing came and nothing is waited for.
  ///
  /// It changes no link: that of the next number says which one that is.
  package mutating func pass(through number: Int64) { through = number }
}

/// What a receipt says of one lane: up to where its relay has it, by the link of the last number.
package struct LaneHead: Sendable, Equatable {
  /// The lane.
  package var lane: LaneName
  /// The first number that the commit added to the chain.
  package var first: Int64
  /// The chain after the commit.
  package var chain: LaneChain

  /// Puts together a head.
  package init(lane: LaneName, first: Int64, chain: LaneChain) {
    self.lane = lane
    self.first = first
    self.chain = chain
  }

  /// The bytes of which its leaf in the tree is made.
  package var bytes: [UInt8] {
    var bytes = ReceiptBytes("waystation.head.v1")
    bytes.add(counted: lane.client.utf8)
    bytes.add(counted: lane.lane.utf8)
    bytes.add(first)
    bytes.add(chain.last)
    bytes.add(chain.link)
    return bytes.bytes
  }
}
