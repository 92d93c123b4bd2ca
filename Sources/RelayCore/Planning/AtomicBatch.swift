/// What an atomic batch says of keys and sequence numbers before any of it is stored.
struct AtomicBatch {
  private struct KeyName: Hashable {
    let client: String
    let key: String
  }

  private struct NumberName: Hashable {
    let lane: LaneName
    let number: Int64
  }

  private struct Said: Equatable {
    let fingerprint: [UInt8]
    let key: String?
    let isVoid: Bool
  }

  private var fingerprints: [KeyName: [UInt8]] = [:]
  private var numbers: [NumberName: Said] = [:]
  /// The greatest number of each lane that comes in order: nothing below it is waited for.
  private var inOrder: [LaneName: Int64] = [:]
  /// The names that would become known by it.
  var names = NewNames()

  /// Notes a draft; tells if an earlier one of the batch stands in its way.
  ///
  /// - Parameters:
  ///   - isNumbered: Whether its number counts, and is not one that its lane has gone on without.
  ///   - placed: The number up to which its lane waits for nothing, before the batch.
  mutating func refusal(
    of draft: EnvelopeDraft, isNumbered: Bool, _ placed: () throws(StoreError) -> Int64
  ) throws(StoreError) -> AppendResult? {
    if let key = draft.key {
      let name = KeyName(client: draft.client, key: key)
      if let first = fingerprints[name] {
        return first == draft.fingerprint ? nil : .keyConflict(id: nil)
      }
      fingerprints[name] = draft.fingerprint
    }
    guard let sequence = draft.sequence, isNumbered else { return nil }
    let lane = LaneName(client: draft.client, lane: draft.lane)
    let name = NumberName(lane: lane, number: sequence)
    let said = Said(fingerprint: draft.fingerprint, key: draft.key, isVoid: draft.isVoid)
    let first = numbers[name]
    let isGivenUp = first?.isVoid ?? (sequence < inOrder[lane] ?? 0)
    if isGivenUp {
      guard !draft.isVoid, !draft.isInOrder else { return nil }
      return .sequencePassed(last: last(in: lane, from: try placed()))
    }
    if let first { return first == said ? nil : .sequenceConflict(id: nil) }
    numbers[name] = said
    if draft.isInOrder { inOrder[lane] = max(inOrder[lane] ?? 0, sequence) }
    return nil
  }

  /// The number up to which a lane would wait for nothing.
  private func last(in lane: LaneName, from placed: Int64) -> Int64 {
    var last = max(placed, inOrder[lane] ?? 0)
    while last < .max, numbers[NumberName(lane: lane, number: last + 1)] != nil { last += 1 }
    return last
  }
}
