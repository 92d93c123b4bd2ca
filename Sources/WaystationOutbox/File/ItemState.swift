/// Where a kept item is, as the database has it.
///
/// The numbers stand in the database's indexes, so they never change.
enum ItemState: Int64, Sendable {
  /// It waits until the app releases it.
  case held = 1
  /// It waits for its turn, and can be changed.
  case waiting = 2
  /// It has been put into a post: it must go exactly so again.
  case sealed = 3
  /// The relay has it.
  case atRelay = 4
  /// It was refused, or the app has recorded an error.
  case blocked = 5
  /// The app died over it several times.
  case quarantined = 6

  /// Whether it needs somebody.
  var needsAttention: Bool { self == .blocked || self == .quarantined }
}

/// Who has refused an item that is blocked.
enum Refuser: Int64, Sendable {
  /// The relay itself, so that its number has not come there.
  case relay = 1
  /// The upstream, and the relay keeps it.
  case upstreamAtRelay = 2
  /// The upstream, without a relay.
  case upstream = 3
  /// The app.
  case app = 4
}

/// How an item has ended, as the database has it.
enum EndingKind: Int64, Sendable {
  case delivered = 1
  case refused = 2
  case expired = 3
  case cancelled = 4
  case unknown = 5
}

/// Where a body is kept.
enum BodyKind: Int64, Sendable {
  /// There is none.
  case none = 0
  /// In the database.
  case inline = 1
  /// In a file of its own.
  case file = 2
}
