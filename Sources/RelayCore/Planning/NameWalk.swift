/// The writer's record of the names that were used since the search for unused ones began.
package struct NameWatch: Sendable {
  /// The kind of names in the range.
  package let kind: NameWalk.Kind
  /// The names of the range that have not been used since.
  package private(set) var unused: NumberBits

  /// Begins to watch a range, of which nothing was used yet.
  package init(_ kind: NameWalk.Kind, _ stretch: ClosedRange<Int64>) {
    self.kind = kind
    unused = NumberBits(stretch, areIn: true)
  }

  /// Marks the names in an event as used.
  package mutating func note(_ entry: EventEntry) {
    if let name = kind.name(in: entry) { unused.remove(name) }
  }
}

/// The state of the search for names that nothing refers to any more.
///
/// The search covers the lanes and then the clients, a range of numbers at a time. First the writer
/// begins to note used names of the range. Then a reader finds the lanes without ended envelopes
/// and sequence numbers, and scans the line and the event log for references. A name that is left,
/// is not paused, and has not been used meanwhile, is forgotten. So no acceptance has to write a
/// count, and no index of waiting envelopes by lane is needed.
package struct NameWalk: Sendable {
  /// The kind of names.
  package enum Kind: Sendable {
    case lanes, clients

    /// The number of the name that an event is about; nil if it is about none of this kind.
    package func name(in entry: EventEntry) -> Int64? {
      switch self {
      case .lanes: entry.lane?.rawValue
      case .clients: entry.client?.rawValue
      }
    }
  }

  /// The next step.
  package enum Phase: Sendable {
    /// The writer begins to note used names of the next range.
    case begin
    /// Candidates are read, after this number.
    case gather(after: Int64)
    /// The line is scanned, after this number.
    case line(after: Serial)
    /// The event log is scanned, from this row on.
    case events(from: Int64)
    /// The names are forgotten, from this number on.
    case forget(from: Int64)
  }

  /// The kind of names that are looked at.
  package var kind = Kind.lanes
  /// The next step.
  package var phase = Phase.begin
  /// The number up to which the round has come.
  package var through: Int64 = 0
  /// The names of the present range that may be forgotten.
  package var candidates = NumberBits(1...1, areIn: false)

  /// Begins a round.
  package init() {}

  /// Goes on after the present range.
  package mutating func advance() {
    through = candidates.last
    phase = .begin
  }
}

/// A set of numbers from a range, one bit for each number of the range.
package struct NumberBits: Sendable {
  /// The most numbers in a range: one mebibyte of bits.
  package static let spanMax: Int64 = 1 << 23

  /// The first number of the range.
  package let first: Int64
  /// The last number of the range.
  package let last: Int64
  private var words: [UInt64]

  /// Makes a set of none or all of the numbers of a range.
  ///
  /// - Precondition: The range has between 1 and ``spanMax`` numbers.
  package init(_ stretch: ClosedRange<Int64>, areIn: Bool) {
    precondition(stretch.upperBound - stretch.lowerBound < Self.spanMax, "a stretch is bounded")
    (first, last) = (stretch.lowerBound, stretch.upperBound)
    let count = Int(last - first) / 64 + 1
    words = [UInt64](repeating: areIn ? .max : 0, count: count)
  }

  /// Whether a number is in the set.
  package func contains(_ number: Int64) -> Bool {
    guard let place = place(of: number) else { return false }
    return words[place.word] & place.bit != 0
  }

  /// Adds a number of the range.
  package mutating func insert(_ number: Int64) {
    guard let place = place(of: number) else { return }
    words[place.word] |= place.bit
  }

  /// Removes a number, in the range or not.
  package mutating func remove(_ number: Int64) {
    guard let place = place(of: number) else { return }
    words[place.word] &= ~place.bit
  }

  /// The first number of the set from `number` on; nil if there is none.
  package func next(from number: Int64) -> Int64? {
    guard number <= last else { return nil }
    let start = max(number, first)
    var word = Int(start - first) / 64
    var bits = words[word] & (.max << UInt64((start - first) % 64))
    while bits == 0 {
      word += 1
      guard word < words.count else { return nil }
      bits = words[word]
    }
    let found = first + Int64(word * 64 + bits.trailingZeroBitCount)
    return found <= last ? found : nil
  }

  private func place(of number: Int64) -> (word: Int, bit: UInt64)? {
    guard number >= first, number <= last else { return nil }
    let offset = Int(number - first)
    return (offset / 64, 1 << UInt64(offset % 64))
  }
}
