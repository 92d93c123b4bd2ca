/// A set of numbers that the relay has given out itself; see ``NumberTable``.
struct NumberSet<Member: SequentialNumber>: Sendable, ExpressibleByArrayLiteral {
  private struct Presence: Sendable {}

  private var table = NumberTable<Member, Presence>()

  /// A set of these.
  init(arrayLiteral members: Member...) {
    for member in members { insert(member) }
  }

  /// The number of members.
  var count: Int { table.count }

  /// Whether there is none.
  var isEmpty: Bool { table.isEmpty }

  /// Whether this number is a member.
  func contains(_ member: Member) -> Bool { table[member] != nil }

  /// Makes a number a member.
  @discardableResult
  mutating func insert(_ member: Member) -> (inserted: Bool, memberAfterInsert: Member) {
    guard table[member] == nil else { return (false, member) }
    table[member] = Presence()
    return (true, member)
  }

  /// Removes a number.
  ///
  /// - Returns: The number, if it was a member.
  @discardableResult
  mutating func remove(_ member: Member) -> Member? {
    table.isEmpty || table.removeValue(forKey: member) == nil ? nil : member
  }
}

extension NumberSet: Sequence {
  /// Goes through the members, in no particular order.
  func makeIterator() -> some IteratorProtocol<Member> {
    table.lazy.map(\.key).makeIterator()
  }
}
