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
  /// The names that would become known by it.
  var names = NewNames()

  /// Notes a draft; tells if an earlier one of the batch stands in its way.
  mutating func refusal(of draft: EnvelopeDraft) -> AppendResult? {
    if let key = draft.key {
      let name = KeyName(client: draft.client, key: key)
      if let first = fingerprints[name] {
        return first == draft.fingerprint ? nil : .keyConflict(id: nil)
      }
      fingerprints[name] = draft.fingerprint
    }
    guard let sequence = draft.sequence else { return nil }
    let lane = LaneName(client: draft.client, lane: draft.lane)
    let name = NumberName(lane: lane, number: sequence)
    let said = Said(fingerprint: draft.fingerprint, key: draft.key, isVoid: draft.isVoid)
    if let first = numbers[name], first != said { return .sequenceConflict(id: nil) }
    numbers[name] = said
    return nil
  }
}
