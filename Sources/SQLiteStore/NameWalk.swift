import RelayCore

/// What the writer has seen of names since somebody began to look for those that can be forgotten.
struct NameWatch {
  /// Of which names the stretch is.
  let kind: NameWalk.Kind
  /// Those of the stretch that have not been used since.
  private(set) var unused: NumberBits

  init(_ kind: NameWalk.Kind, _ stretch: ClosedRange<Int64>) {
    self.kind = kind
    unused = NumberBits(stretch, areIn: true)
  }

  /// Whom an event is about is in use.
  mutating func note(_ entry: EventEntry) {
    switch kind {
    case .lanes: if let lane = entry.lane { unused.remove(lane.rawValue) }
    case .clients: if let client = entry.client { unused.remove(client.rawValue) }
    }
  }
}

/// Where the search for names that nothing refers to any more has come to.
///
/// It goes along the lanes and then the clients, a stretch of numbers at a time. Of each the writer
/// first begins to note what is used; then it is read which lanes have nothing that ended and no
/// sequence number, and the line and the log of events are gone through for what speaks of them.
/// What is left, is not paused, and has not been used meanwhile, is forgotten. So no acceptance has
/// to write a count, and no index of what waits by lane is needed.
struct NameWalk: Sendable {
  /// Which names.
  enum Kind: Sendable { case lanes, clients }

  /// What comes next.
  enum Phase: Sendable {
    /// The writer begins to note what is used of the next stretch.
    case begin
    /// Candidates are read, behind this number.
    case gather(after: Int64)
    /// The line is gone through, behind this number.
    case line(after: Serial)
    /// The log of events is gone through, from this row on.
    case events(from: Int64)
    /// They are forgotten, from this number on.
    case forget(from: Int64)
  }

  var kind = Kind.lanes
  var phase = Phase.begin
  /// Up to which number the round has come.
  var through: Int64 = 0
  /// What may be forgotten of the present stretch.
  var candidates = NumberBits(1...1, areIn: false)

  /// Goes on behind the present stretch.
  mutating func goOn() {
    through = candidates.last
    phase = .begin
  }
}
