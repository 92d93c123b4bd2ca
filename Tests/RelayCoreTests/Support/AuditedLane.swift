import Cryptography
import RelayCore

/// A lane as an auditor gets to see it: honest when it is made, and open to be tampered with.
struct AuditedLane {
  static let hash: ReceiptHash = { SHA256.digest(of: $0) }
  static let lane = LaneName(client: "till-1", lane: "sales")
  static let time = WallTime(millisecondsSinceEpoch: 1_793_383_200_123)

  var rows: [LedgerEntry] = []
  var heads: [LaneHead] = []
  var requests: [(number: Int64, digest: [UInt8])] = []
  /// Each page: the numbers that it speaks for.
  var pages: [SequenceRange] = []
  private(set) var chain: LaneChain

  init(begin: Int64 = 1, incarnation: UInt8 = 9) {
    chain = LaneChain(
      of: Self.lane, incarnation: [UInt8](repeating: incarnation, count: 16), at: begin,
      Self.hash)
  }

  /// The digest of what came under a number.
  static func digest(_ number: Int64, _ variant: UInt8 = 0) -> [UInt8] {
    hash([variant, UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)])
  }

  static func ending(_ state: EnvelopeState, status: Int = 200) -> LedgerEntry.Ending {
    LedgerEntry.Ending(
      state: state, status: status, responseDigest: hash([]), at: time)
  }

  // MARK: - Making it

  /// Takes the next number, which ends in a state (nil: it waits), and comes at the upstream.
  mutating func take(_ state: EnvelopeState?, requests count: Int = 0) {
    let number = chain.through + 1
    let digest = Self.digest(number)
    chain.take(digest, Self.hash)
    rows.append(
      LedgerEntry(
        number: number, digest: digest, link: chain.link, ending: state.map { Self.ending($0) }))
    for _ in 0..<count { requests.append((number, digest)) }
  }

  /// Gives the next number up.
  mutating func giveUp() { chain.pass(through: chain.through + 1) }

  /// Makes a receipt of what came so far.
  mutating func receipt() {
    heads.append(LaneHead(lane: Self.lane, first: chain.last, chain: chain))
  }

  /// One page for all numbers, unless there are some.
  var numbers: SequenceRange { SequenceRange(first: chain.begin, last: chain.last) }

  // MARK: - Tampering

  func place(_ number: Int64) -> Int {
    guard let place = rows.firstIndex(where: { $0.number == number }) else {
      preconditionFailure("there is a row of \(number)")
    }
    return place
  }

  func hasArrived(_ number: Int64) -> Bool { requests.contains { $0.number == number } }

  /// Makes all links anew, so that only receipts disagree.
  mutating func relink() {
    var link = LaneChain(
      of: Self.lane, incarnation: chain.incarnation, at: chain.begin, Self.hash
    ).link
    for index in rows.indices {
      link = LaneChain.link(after: link, rows[index].number, rows[index].digest, Self.hash)
      rows[index].link = link
    }
  }

  // MARK: - Auditing it

  /// All of it, as evidence, with pages that were signed so many milliseconds later.
  func add(to evidence: inout LaneEvidence, after milliseconds: Int64 = 0) {
    let time = WallTime(
      millisecondsSinceEpoch: Self.time.millisecondsSinceEpoch + milliseconds)
    for page in pages.isEmpty ? [numbers] : pages {
      evidence.add(
        rows.filter { page.first <= $0.number && $0.number <= page.last }, speakingFor: page,
        at: time)
    }
    for request in requests { evidence.add(request: request.number, request.digest) }
  }

  func verdict() throws -> LaneAudit.Verdict {
    var evidence = LaneEvidence()
    add(to: &evidence)
    return try Self.verdict(heads, evidence)
  }

  /// The verdict on the first chain of some receipts.
  static func verdict(
    _ heads: [LaneHead], from first: Int64? = nil, _ evidence: LaneEvidence
  ) throws -> LaneAudit.Verdict {
    let chains = try LaneAudit.chains(of: heads, from: first, hash)
    return LaneAudit(evidence, hash).verdict(on: chains[0])
  }
}
