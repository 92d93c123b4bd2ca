#if PostgreSQL
import RelayCore

/// The sizes of steps that read.
enum ReadingLimits {
  /// The most rows that one call of a list looks at, so that it is short.
  static let looksMax = 65_536
  /// The most names that one step of the search for unused ones looks at.
  static let namesPerStep = 16_384
  /// The most rows of the line that one step of that search looks at.
  static let lineLooksPerStep = 65_536
  /// The number of latest endings among which a client's first check-in searches.
  static let firstCheckInLooksMax: Int64 = 20_000
  /// The most rows of the event log that are read at once.
  static let eventRowsPerStep = 4096
  /// The bytes of events after which a page of them reads no further row.
  static let eventBytesPerPage: Int64 = 256 << 10
  /// The same of a step of the search for unused names.
  static let eventBytesPerStep: Int64 = 1 << 20
}

/// The progress of walks that go on from call to call.
struct StoreWalks: Sendable {
  /// The search for passed deadlines.
  var expiry = ExpiryWalk()
  /// The search for unused names.
  var names = NameWalk()

  /// The progress of the search for passed deadlines.
  struct ExpiryWalk: Sendable {
    var cursor: Serial = 0
    var nextDeadline: WallTime?
  }
}
#endif
