/// A request that carries several envelopes and has not ended for all of them.
///
/// It has one of its upstream's slots, whatever the number of its members.
struct OpenBatch: Sendable {
  /// The members whose attempts have not ended, as they stood when the batch was put together.
  ///
  /// A lane's window may be cut short in front of a member meanwhile.
  var members: [Serial: LineEntry]
  /// Whether a member's end has shown how the upstream is.
  var hasLearned = false
}

/// A part of a batch whose answer said nothing of its members.
///
/// Its members go together again, and with no others. So a member that spoils every batch is found
/// by halving, and the others do not suffer for it.
struct BatchPortion: Sendable, Equatable {
  /// The number that its members have in common.
  var number: Int
  /// The number of its members; at least 1.
  var count: Int
  /// What was known of how large requests may be before the first refusal for its size; nil if
  /// there was none.
  var ceiling: BatchCeiling?
  /// Whether it was parted again: all that was in it had been refused before.
  var isPartOfPart = false
}

/// What the scheduler remembers of batches.
struct BatchBook: Sendable {
  /// The batches under way, by their first members.
  var open: [Serial: OpenBatch] = [:]
  /// The first member of each member's batch.
  var firsts: [Serial: Serial] = [:]
  /// The portions of members that were refused together with others.
  var portions: [Serial: BatchPortion] = [:]
  /// Envelopes that were found to need a request of their own.
  var alone: Set<Serial> = []
  private var portionCount = 0

  /// Notes that a batch has begun.
  mutating func begin(_ members: [LineEntry]) {
    let first = members[0].serial
    open[first] = OpenBatch(
      members: Dictionary(uniqueKeysWithValues: members.map { ($0.serial, $0) }))
    for member in members { firsts[member.serial] = first }
  }

  /// A member as it stood when its batch was put together; nil if it is in none.
  func member(_ serial: Serial) -> LineEntry? {
    guard !firsts.isEmpty, let first = firsts[serial] else { return nil }
    return open[first]?.members[serial]
  }

  /// Whether anything is remembered.
  var isInUse: Bool { !open.isEmpty || !firsts.isEmpty || !portions.isEmpty || !alone.isEmpty }

  /// Whether an envelope's attempt is under way together with others.
  func isUnderWay(_ serial: Serial) -> Bool { !firsts.isEmpty && firsts[serial] != nil }

  /// Notes that a member's attempt has ended.
  ///
  /// - Returns: Whether no other one of its batch is under way.
  mutating func end(_ serial: Serial) -> Bool {
    guard let first = firsts.removeValue(forKey: serial) else { return true }
    open[first]?.members[serial] = nil
    guard open[first]?.members.isEmpty == true else { return false }
    open[first] = nil
    return true
  }

  /// Whether an end is the first to show how the upstream is; true if it is no member's.
  mutating func learnsFirst(from serial: Serial) -> Bool {
    guard !firsts.isEmpty, let first = firsts[serial] else { return true }
    guard open[first]?.hasLearned == false else { return false }
    open[first]?.hasLearned = true
    return true
  }

  /// Has the members of a refused batch go again in two halves.
  ///
  /// - Parameter ceiling: What was known of sizes before it was refused for its own; nil if it was
  ///   refused for something else.
  /// - Precondition: There are at least two.
  mutating func halve(_ members: [Serial], _ ceiling: BatchCeiling? = nil) {
    precondition(members.count >= 2, "a batch of one is the envelope's own attempt")
    let middle = (members.count + 1) / 2
    let ceiling = portions[members[0]]?.ceiling ?? ceiling
    for part in [members[..<middle], members[middle...]] { setApart(part, ceiling) }
  }

  /// Those that are under way in the same request, an envelope itself among them; nil if it is in
  /// none.
  func members(with serial: Serial) -> [LineEntry]? {
    firsts[serial].flatMap { open[$0] }.map { Array($0.members.values) }
  }

  /// Has the clients whose envelopes are in one request go again in two, if there are several.
  ///
  /// So one for whom all were refused is found, and the others go on without it.
  mutating func partClients(in serial: Serial) {
    let members = (members(with: serial) ?? []).sorted {
      ($0.client, $0.serial) < ($1.client, $1.serial)
    }
    let boundaries = members.indices.dropFirst().filter {
      members[$0 - 1].client != members[$0].client
    }
    let middle = members.count / 2
    guard let boundary = boundaries.min(by: { abs($0 - middle) < abs($1 - middle) }) else { return }
    let ceiling = portions[serial]?.ceiling
    for part in [members[..<boundary], members[boundary...]] {
      setApart(part.map(\.serial)[...], ceiling)
    }
  }

  /// What was known of sizes before the batches were refused in which an envelope was; given out
  /// once.
  mutating func takeCeiling(of serial: Serial) -> BatchCeiling? {
    guard let ceiling = portions[serial]?.ceiling else { return nil }
    portions[serial]?.ceiling = nil
    return ceiling
  }

  /// Has each of these go again in a batch of its own.
  mutating func separate(_ members: [Serial]) {
    for index in members.indices { setApart(members[index...index]) }
  }

  private mutating func setApart(_ part: ArraySlice<Serial>, _ ceiling: BatchCeiling? = nil) {
    portionCount += 1
    let isPartOfPart = part.first.map { portions[$0] != nil } ?? false
    let portion = BatchPortion(
      number: portionCount, count: part.count, ceiling: ceiling, isPartOfPart: isPartOfPart)
    for serial in part { portions[serial] = portion }
  }

  /// Forgets what was known of an envelope that has left its lane.
  mutating func forget(_ serial: Serial) {
    if !portions.isEmpty { portions[serial] = nil }
    if !alone.isEmpty { alone.remove(serial) }
  }
}
