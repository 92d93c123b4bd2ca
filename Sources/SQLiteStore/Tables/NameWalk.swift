import RelayCore

/// The writer's record of the names that were used since the search for unused ones began.
struct NameWatch {
  /// The kind of names in the range.
  let kind: NameWalk.Kind
  /// The names of the range that have not been used since.
  private(set) var unused: NumberBits

  init(_ kind: NameWalk.Kind, _ stretch: ClosedRange<Int64>) {
    self.kind = kind
    unused = NumberBits(stretch, areIn: true)
  }

  /// Marks the names in an event as used.
  mutating func note(_ entry: EventEntry) {
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
struct NameWalk: Sendable {
  /// The kind of names.
  enum Kind: Sendable {
    case lanes, clients

    /// The number of the name that an event is about; nil if it is about none of this kind.
    func name(in entry: EventEntry) -> Int64? {
      switch self {
      case .lanes: entry.lane?.rawValue
      case .clients: entry.client?.rawValue
      }
    }
  }

  /// The next step.
  enum Phase: Sendable {
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

  var kind = Kind.lanes
  var phase = Phase.begin
  /// The number up to which the round has come.
  var through: Int64 = 0
  /// The names of the present range that may be forgotten.
  var candidates = NumberBits(1...1, areIn: false)

  /// Goes on after the present range.
  mutating func advance() {
    through = candidates.last
    phase = .begin
  }
}
