/// What an audit of a lane goes by: pages of its ledger, and what the upstream got.
///
/// It keeps some 400 bytes of each number, so that a lane of a million fits into memory.
package struct LaneEvidence: Sendable {
  /// A SHA-256 without an array of its own.
  struct Digest: Sendable, Equatable {
    private let parts: (UInt64, UInt64, UInt64, UInt64)

    /// Takes 32 bytes.
    init(_ bytes: [UInt8]) {
      precondition(bytes.count == LaneChain.digestBytes, "a digest has 32 bytes")
      func part(_ index: Int) -> UInt64 {
        bytes[8 * index..<8 * index + 8].reduce(0) { $0 << 8 | UInt64($1) }
      }
      parts = (part(0), part(1), part(2), part(3))
    }

    /// The bytes.
    var bytes: [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(LaneChain.digestBytes)
      for part in [parts.0, parts.1, parts.2, parts.3] {
        withUnsafeBytes(of: part.bigEndian) { bytes.append(contentsOf: $0) }
      }
      return bytes
    }

    /// What stands for a digest that there is none of.
    static let none = Digest(LedgerEntry.noDigest)

    static func == (left: Digest, right: Digest) -> Bool { left.parts == right.parts }
  }

  /// A row of the ledger.
  struct Row: Sendable {
    /// How it ended.
    struct Ending: Sendable, Equatable {
      let state: EnvelopeState
      let status: Int
      let response: Digest
      let at: WallTime

      /// Whether it says of its answer what it is.
      var hasResponse: Bool { response != Digest.none }

      /// Whether it is what an honest relay may say of another ending later.
      ///
      /// One that makes no receipts forgets the answer with its envelope.
      func remains(of former: Ending) -> Bool {
        state == former.state && status == former.status && at == former.at
          && (response == former.response || !hasResponse)
      }
    }

    let number: Int64
    let digest: Digest
    let link: Digest
    let ending: Ending?
    /// When its page was signed.
    let told: WallTime
    /// Which of all pages it stands on.
    let page: Int

    var isDelivered: Bool { ending?.state == .delivered }

    /// The place among rows of one time, so that none contradicts another without need.
    fileprivate var rank: Int {
      guard let ending, isDelivered else { return 0 }
      return ending.hasResponse ? 1 : 2
    }

    /// Whether no honest relay says this once it has said another.
    ///
    /// What waits ends, and what was not delivered may be put back in line. What was delivered
    /// stays so. Links are not signed: anybody may have changed one.
    fileprivate func contradicts(earlier other: Row) -> Bool {
      guard digest == other.digest else { return true }
      guard let former = other.ending, other.isDelivered else { return false }
      guard let ending, isDelivered else {
        return told > former.at.adding(milliseconds: LaneEvidence.clocksApartMs)
      }
      return !ending.remains(of: former)
    }
  }

  /// How long after a delivery a page may be signed that does not tell of it, in milliseconds.
  ///
  /// A page is read a moment before it is signed, and the clocks of several relays are not one.
  package static let clocksApartMs: Int64 = 60_000

  /// A request that came at the upstream.
  struct Arrival: Sendable {
    let number: Int64
    let digest: Digest
    /// Its place among all that came.
    let place: Int
  }

  private(set) var rows: [Row] = []
  private(set) var pages: [SequenceRange] = []
  private(set) var arrivals: [Arrival] = []

  /// Begins with nothing.
  package init() {}

  /// Adds a page of the ledger, whose signature was verified.
  ///
  /// - Parameters:
  ///   - entries: Its rows, all within the range.
  ///   - numbers: What it speaks for; nil for nothing.
  ///   - time: When it was signed.
  /// - Precondition: Digests and links have 32 bytes.
  package mutating func add(
    _ entries: [LedgerEntry], speakingFor numbers: SequenceRange?, at time: WallTime
  ) {
    guard let numbers else { return }
    for entry in entries {
      let ending = entry.ending.map {
        Row.Ending(
          state: $0.state, status: $0.status, response: Digest($0.responseDigest), at: $0.at)
      }
      rows.append(
        Row(
          number: entry.number, digest: Digest(entry.digest), link: Digest(entry.link),
          ending: ending, told: time, page: pages.count))
    }
    pages.append(numbers)
  }

  /// Adds the next request that came at the upstream.
  ///
  /// - Parameter digest: That of the covered item, as the upstream got it: 32 bytes.
  package mutating func add(request number: Int64, _ digest: [UInt8]) {
    arrivals.append(Arrival(number: number, digest: Digest(digest), place: arrivals.count))
  }

  /// Puts the rows in order, one for each number, and says of which numbers pages contradict each
  /// other.
  ///
  /// Where pages overlap, the one that was signed later says how a number ended, up to the first
  /// that tells of a delivery: that has to be at the upstream, whatever is said later.
  mutating func merge() -> [Int64] {
    rows.sort {
      ($0.number, $0.told.millisecondsSinceEpoch, $0.rank, $0.page)
        < ($1.number, $1.told.millisecondsSinceEpoch, $1.rank, $1.page)
    }
    var contradictions: [Int64] = []
    var end = 0
    for index in rows.indices {
      let row = rows[index]
      guard end > 0, rows[end - 1].number == row.number else {
        rows[end] = row
        end += 1
        continue
      }
      if row.contradicts(earlier: rows[end - 1]), contradictions.last != row.number {
        contradictions.append(row.number)
      }
      if !rows[end - 1].isDelivered { rows[end - 1] = row }
    }
    rows.removeSubrange(end...)
    pages.sort { $0.first < $1.first }
    arrivals.sort { ($0.number, $0.place) < ($1.number, $1.place) }
    return contradictions
  }
}

extension LedgerEntry {
  /// The root of the tree over some entries, which a page's signature stands for (RFC 9162
  /// section 2.1.1); of no entries it is the hash of no bytes.
  package static func root(
    of entries: [LedgerEntry], in lane: LaneName, _ hash: ReceiptHash
  ) -> [UInt8] {
    let leaves = entries.map { MerkleTree.leaf(of: $0.bytes(of: lane), hash) }
    return leaves.isEmpty ? hash([]) : MerkleTree(leaves: leaves, hash).root
  }
}
