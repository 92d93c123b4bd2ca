/// The store's own limits and settings; `docs/decisions/0002-schema.md` has the measurements.
enum StoreTuning {
  /// The size of a database page; only a new store takes it.
  static let pageBytes = 8192
  /// The writer's page cache.
  static let writerCacheKiB = 16_384
  /// Each reader's page cache.
  static let readerCacheKiB = 4096
  /// How many readers serve look-ups and listings, beside the one that serves the dispatcher.
  static let readerCount = 2
  /// How long a statement waits for another connection's lock.
  static let busyTimeoutMs: Int32 = 5000

  /// A transaction takes no further appends once it holds this many rows.
  static let appendsPerTransactionMax = 1024
  /// A transaction takes no further appends once it holds this many bytes of content.
  static let appendBytesPerTransactionMax = 4 << 20
  /// A transaction moves at most this many envelopes that were parked into line.
  static let movesPerTransactionMax = 256
  /// A transaction takes at most this many transitions.
  static let transitionsPerTransactionMax = 1024

  /// Past this many bytes in the log a checkpoint begins in the background.
  static let checkpointBytes: Int64 = 16 << 20
  /// How large the log may become before new envelopes are refused, unless it is said otherwise.
  static let logBytesMax: Int64 = 256 << 20
  /// Past so many times the size at which a checkpoint begins the writer waits for readers, so that
  /// the log starts anew.
  static let logShareToWait: Int64 = 4
  /// How long the writer waits for readers then.
  static let logWaitMs: Int32 = 100
  /// A log that has grown past this is cut down to it once it has been copied.
  ///
  /// What is kept is written over, which commits faster than growing a file does.
  static let logBytesKept = 64 << 20

  /// How many lanes, and how many clients, are remembered by name.
  static let namesCachedMax = 65_536
  /// How many endings are logged before they are added up in their lanes' rows.
  static let endedLogEntriesMax = 16_384

  /// The first pause after a write that failed.
  static let retryPauseMsMin: Int64 = 100
  /// The longest pause after writes that failed.
  static let retryPauseMsMax: Int64 = 5000

  /// How many bytes of events are kept unless it is said otherwise.
  static let eventLogBytesMax: Int64 = 64 << 20
  /// Past one part in so many more the log of events is cut down.
  static let eventLogSlackShare: Int64 = 16
  /// How many rows of the log of events one transaction forgets at the most, to make room.
  static let eventRowsForgottenMax = 256
  /// About how many bytes of events one transaction forgets at the most.
  static let eventBytesForgottenMax: Int64 = 1 << 20
  /// How many acts of the audit log one transaction forgets at the most.
  static let auditEntriesForgottenMax = 100
  /// How many rows of an upstream's history one transaction forgets at the most.
  static let historyRowsForgottenMax = 100
  /// How many lanes' names each reader of events remembers.
  static let eventNamesCachedMax = 8192

  /// How many places of the line one reader counts at a time, at a start.
  static let countedPerStep = 131_072

  /// How many places of the line one step looks at that seeks a client's envelopes.
  static let clearingLooksPerStep = 65_536

  /// How many bytes of a large body are read at a time to be checked before they are sent.
  static let bodyBytesCheckedPerStep = 256 << 10

  /// How many names one step looks at that seeks those which can be forgotten.
  static let namesLookedAtPerStep = 16_384
  /// About how many bytes of events it looks at.
  static let eventBytesLookedAtPerStep = 1 << 20

  /// How long one step of a listing goes on looking; what it looks at may have to come from disk.
  static let listingMsMax: Int64 = 100
  /// How many envelopes' numbers a listing goes through before it looks at the clock, however few
  /// of them the database lets through.
  static let listingStretch = 16_384
  /// Where one envelope in so many or more is in a state that is asked for, a listing goes along
  /// all envelopes: to look one up takes some five times as long as to pass one over.
  static let listingDensePart: Int64 = 5
  /// After how many envelopes that come through a listing looks at the clock.
  static let listingLooksPerClock = 256

  /// How many of the latest endings a client's first check-in is looked for among.
  static let firstCheckInLooksMax = 20_000

  /// How often to look whether trouble is over while nobody writes.
  static let lookPauseMs: Int64 = 1000

  /// New envelopes leave this much of the disk to the outcomes of those that were accepted.
  static let diskBytesReserved: Int64 = 64 << 20
  /// They leave no more than one part in so many of a small disk.
  static let diskShareReserved: Int64 = 8
  /// The most that is set aside for outcomes alone.
  static let ballastBytesMax: Int64 = 16 << 20
  /// While there is trouble a transaction takes at most this many transitions: a small one may
  /// find room where a large one does not.
  static let transitionsPerTransactionInTroubleMax = 16

  /// How many free pages are kept for new envelopes before any are given back to the disk.
  static let freePagesKept: Int64 = 2048
  /// How many pages one step gives back at the most.
  static let freePagesReturnedPerStep: Int64 = 256
  /// The pause between two such steps: posts come first.
  static let freePagesReturnedPauseMs: Int64 = 20

  /// A clock that has gone back by no more than this is being adjusted, in milliseconds.
  static let timeHeldMs: Int64 = 60_000
}
