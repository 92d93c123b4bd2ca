/// The store's own limits and settings; `docs/decisions/0002-schema.md` has measurements.
enum StoreTuning {
  /// The size of a database page, for a new store.
  static let pageBytes = 8192
  /// The writer's page cache.
  static let writerCacheKiB = 16_384
  /// Each reader's page cache.
  static let readerCacheKiB = 4096
  /// The number of readers for look-ups and listings, beside the dispatcher's own.
  static let readerCount = 2

  /// The number of rows after which a transaction takes no further appends.
  static let appendsPerTransactionMax = 1024
  /// The bytes of content after which a transaction takes no further appends.
  static let appendBytesPerTransactionMax = 4 << 20
  /// The most parked envelopes that a transaction moves into line.
  static let movesPerTransactionMax = 256
  /// The most transitions of a transaction.
  static let transitionsPerTransactionMax = 1024
  /// The most commits that are in the log and not known to be on the disk.
  ///
  /// Part of what a log may look like after a power cut: see `LogImage`.
  static let unsyncedCommitsMax = 2
  /// The changes of a commit from which on the next one is made during its sync.
  static let overlappedChangesMin = 128
  /// How long syncs have to take, in microseconds, for smaller commits to be so as well.
  static let overlappedSyncMicrosecondsMin: Int64 = 1000

  /// The bytes in the log at which a checkpoint begins in the background.
  static let checkpointBytes: Int64 = 16 << 20
  /// The default size of the log at which new envelopes are refused.
  static let logBytesMax: Int64 = 256 << 20
  /// The multiple of the checkpoint's size at which the writer waits for readers, so that the log
  /// starts over.
  static let logShareToWait: Int64 = 4
  /// The longest such wait of the writer for readers.
  static let logWaitMs: Int32 = 100
  /// The size to which a longer log is cut once it has been copied.
  ///
  /// The kept part is overwritten, which commits faster than growing a file.
  static let logBytesKept = 64 << 20

  /// The most lanes, and the most clients, that are cached by name.
  static let namesCachedMax = 65_536
  /// The number of logged endings after which they are added up in their lanes' rows.
  static let endedLogEntriesMax = 16_384

  /// The first pause after a failed write.
  static let retryPauseMsMin: Int64 = 100
  /// The longest pause after failed writes.
  static let retryPauseMsMax: Int64 = 5000

  /// The default for how many bytes of events are kept.
  static let eventLogBytesMax: Int64 = 64 << 20
  /// The excess at which the event log is cut down: one part in so many.
  static let eventLogSlackShare: Int64 = 16
  /// The most rows of the event log that one transaction deletes to make room.
  static let eventRowsForgottenMax = 256
  /// The most bytes of events that one transaction deletes, roughly.
  static let eventBytesForgottenMax: Int64 = 1 << 20
  /// The most acts of the audit log that one transaction deletes.
  static let auditEntriesForgottenMax = 100
  /// The most rows of an upstream's history that one transaction deletes.
  static let historyRowsForgottenMax = 100
  /// The most lane names that each reader of events caches.
  static let eventNamesCachedMax = 8192

  /// The number of places of the line that a reader counts at a time, at a start.
  static let countedPerStep = 131_072

  /// The number of places of the line that one step of a search for a client's envelopes looks at.
  static let clearingLooksPerStep = 65_536

  /// The number of bytes of a large body that are checked at a time before it is sent.
  static let bodyBytesCheckedPerStep = 256 << 10

  /// The number of names that one step of the search for unused names looks at.
  static let namesLookedAtPerStep = 16_384
  /// The bytes of events that such a step looks at, roughly.
  static let eventBytesLookedAtPerStep = 1 << 20

  /// The longest time of one step of a listing; the rows may have to come from disk.
  static let listingMsMax: Int64 = 100
  /// The number of envelope numbers after which a listing checks the clock, however few rows the
  /// database returns.
  static let listingStretch = 16_384
  /// The share of envelopes in the requested states, as one in so many, from which a listing scans
  /// all envelopes: looking one up takes some five times as long as passing one over.
  static let listingDensePart: Int64 = 5
  /// The number of envelopes that are read at once to find a time of acceptance.
  static let listingIDsPerProbe: Int64 = 16
  /// The number of returned envelopes after which a listing checks the clock.
  static let listingLooksPerClock = 256

  /// The number of latest endings among which a client's first check-in searches.
  static let firstCheckInLooksMax = 20_000

  /// The time between two checks whether trouble is over while nobody writes.
  static let lookPauseMs: Int64 = 1000

  /// The part of the disk that new envelopes leave for the outcomes of accepted ones.
  static let diskBytesReserved: Int64 = 64 << 20
  /// The largest share of a small disk that they leave: one part in so many.
  static let diskShareReserved: Int64 = 8
  /// The most that is set aside for outcomes alone.
  static let ballastBytesMax: Int64 = 16 << 20
  /// The most transitions of a transaction during trouble: a small one may find room where a large
  /// one does not.
  static let transitionsPerTransactionInTroubleMax = 16

  /// The number of free pages that are kept for new envelopes before any are given back to the
  /// disk.
  static let freePagesKept: Int64 = 2048
  /// The most pages that one step gives back.
  static let freePagesReturnedPerStep: Int64 = 256
  /// The pause between two such steps: posts come first.
  static let freePagesReturnedPauseMs: Int64 = 20
}
