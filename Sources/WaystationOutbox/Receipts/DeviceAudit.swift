/// Holds what an upstream got of a lane against what its device has signed.
///
/// It is handed the requests in the order in which they came, each with its number, the digest of
/// what came, and what the device has signed of it. It trusts nobody but the device's key.
package struct DeviceAudit {
  /// Why a number does not hold.
  package enum Reason: String, Sendable {
    /// It came without a signature.
    case unsigned = "unsigned"
    /// Nobody who is known has signed what came with it, or it is of another lane or number.
    case badSignature = "device-signature"
    /// The device has signed another request under it.
    case changed = "changed-after-signing"
    /// The device has signed two things under it.
    case signedTwice = "signed-twice"
    /// It follows on something else than came before it.
    case anotherHistory = "another-history"
    /// The device has signed that it goes before another one, and it did not come.
    case missing = "missing-at-upstream"
    /// It came behind a later one.
    case anotherOrder = "another-order-than-signed"
  }

  /// The first number that does not hold.
  package struct Fault: Error, Sendable, Equatable {
    /// The number.
    package let number: UInt64
    /// Why.
    package let reason: Reason
    /// The number that it came behind.
    package var behind: UInt64?

    init(_ number: UInt64, _ reason: Reason, behind: UInt64? = nil) {
      self.number = number
      self.reason = reason
      self.behind = behind
    }
  }

  /// What was counted.
  package struct Counts: Sendable, Equatable {
    /// Numbers whose requests are signed.
    package var signed = 0
    /// Numbers without a signature below the first that has one.
    package var before = 0
    /// Places at which the device did not know what it had signed before.
    package var anew = 0
    /// The first number that is signed.
    package var first: UInt64 = 0
    /// The last one.
    package var last: UInt64 = 0
  }

  /// What came with a request.
  package enum Signed: Sendable {
    /// Nothing.
    case nothing
    /// Something that nobody who is known has signed, or that is of another lane or number.
    case nobody
    /// What the device has signed, and its hash.
    case device(ItemStatement, hash: [UInt8])
  }

  private struct Request {
    var statement: ItemStatement?
    var hash: [UInt8] = []
    var fault: Reason?
    var behind: UInt64?
  }

  private var requests: [UInt64: Request] = [:]
  private var highest: UInt64 = 0

  /// No request has come.
  package init() {}

  /// A request has come.
  ///
  /// - Parameter digests: What is covered of what came, in each way in which its sender may have
  ///   meant it.
  package mutating func add(_ number: UInt64, digests: [[UInt8]], _ signed: Signed) {
    var request = requests[number] ?? Request()
    switch signed {
    case .nothing: request.fault = request.fault ?? .unsigned
    case .nobody: request.fault = request.fault ?? .badSignature
    case .device(let statement, let hash):
      if let known = request.statement, request.hash != hash || known != statement {
        request.fault = request.fault ?? .signedTwice
      }
      if !digests.contains(statement.digest) { request.fault = request.fault ?? .changed }
      if request.statement == nil {
        (request.statement, request.hash) = (statement, hash)
        // Numbers that nobody has signed say nothing of the order of others.
        if number < highest { request.behind = highest }
        highest = max(highest, number)
      }
    }
    requests[number] = request
  }

  /// Says whether all holds, or the first number that does not.
  ///
  /// - Parameters:
  ///   - from: The number to begin with.
  ///   - isExcused: Whether somebody else shows why a number has not come.
  package func verdict(
    from: UInt64 = 1, isExcused: (UInt64) -> Bool = { _ in false }
  ) -> Result<Counts, Fault> {
    let statements = requests.values.compactMap(\.statement)
    let voids = VoidRanges(statements.flatMap(\.voids))
    let numbers = requests.keys.filter { $0 >= from }.sorted()
    guard let begin = numbers.first(where: { requests[$0]?.statement != nil }) else {
      return numbers.first.map { .failure(Fault($0, requests[$0]?.fault ?? .unsigned)) }
        ?? .success(Counts())
    }
    var counts = Counts(first: begin)
    var former: UInt64?
    for number in numbers {
      guard let request = requests[number] else { continue }
      guard let statement = request.statement else {
        // The lane was not signed yet.
        guard number < begin, request.fault == .unsigned else {
          return .failure(Fault(number, request.fault ?? .unsigned))
        }
        counts.before += 1
        continue
      }
      let lowest = former.map { $0 + 1 } ?? max(from, statement.former?.sequence ?? number)
      // One that begins anew still names the last that it knows to be signed.
      let known = statement.isAnew ? (statement.former?.sequence ?? 0) + 1 : number
      if let missing = voids.firstOutside(lowest, below: known, isExcused) {
        // The lane's first statements may have been taken away.
        return .failure(Fault(missing, requests[missing] == nil ? .missing : .unsigned))
      }
      if let reason = request.fault ?? fault(of: statement, after: former, voids) {
        return .failure(Fault(number, reason))
      }
      if let behind = request.behind {
        return .failure(Fault(number, .anotherOrder, behind: behind))
      }
      if statement.isAnew { counts.anew += 1 }
      counts.signed += 1
      counts.last = number
      former = number
    }
    return .success(counts)
  }

  /// Why a statement does not follow on what came before it; nil if it does.
  private func fault(
    of statement: ItemStatement, after former: UInt64?, _ voids: VoidRanges
  ) -> Reason? {
    guard let said = statement.former else {
      return former == nil || statement.isAnew ? nil : .anotherHistory
    }
    if let known = requests[said.sequence]?.statement {
      guard requests[said.sequence]?.hash == said.hash, known.sequence == said.sequence else {
        return .anotherHistory
      }
    }
    // What came in between was given up later, or the device had forgotten it.
    guard let former, said.sequence < former, !statement.isAnew else { return nil }
    return voids.contains(former) ? nil : .anotherHistory
  }
}

/// Numbers that a device has given up.
private struct VoidRanges {
  /// In their order, none of them touching another.
  private var ranges: [ClosedRange<UInt64>] = []

  init(_ all: [ClosedRange<UInt64>]) {
    for range in all.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = ranges.last, range.lowerBound <= last.upperBound + 1 {
        ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        ranges.append(range)
      }
    }
  }

  func contains(_ number: UInt64) -> Bool { ranges.contains { $0.contains(number) } }

  /// The first number of a stretch that is not among them, and that nobody excuses.
  func firstOutside(
    _ lowest: UInt64, below end: UInt64, _ isExcused: (UInt64) -> Bool
  ) -> UInt64? {
    var number = lowest
    for range in ranges where range.upperBound >= lowest {
      while number < min(range.lowerBound, end) {
        if !isExcused(number) { return number }
        number += 1
      }
      number = max(number, range.upperBound + 1)
    }
    while number < end {
      if !isExcused(number) { return number }
      number += 1
    }
    return nil
  }
}
