#if PostgreSQL
import RelayCore

/// The times that a store gives its database, and the sizes of its transactions.
struct DatabaseLimits: Sendable {
  /// How long a connection may take to be made, in milliseconds.
  var connectTimeoutMs = 5000
  /// How long the database may be silent while an answer is awaited, in milliseconds: then the
  /// connection is given up, and the outcome found out by another one.
  var silenceMs = 3000
  /// The same while everything is counted at a start, in milliseconds: many millions of rows, which
  /// may have to come from a disk.
  var startSilenceMs = 900_000
  /// The pause before the database is tried again, in milliseconds: from the first one to the
  /// longest, at random between a half of it and all.
  var reconnectMs: ClosedRange<UInt32> = 100...2000
  /// How long a beat may take, and how long its connection may take to be made, in milliseconds: a
  /// half of the time in which one has to succeed.
  var beatTimeoutMs: Int { Int(lease.ttlMs - lease.marginMs) / 2 }
  /// The time from one look at how safe the database's commits are to the next, in milliseconds.
  var durabilityMs: Int64 = 10_000
  /// The times by which relays take the store from each other.
  var lease = LeaseLimits()
  /// The most posts of one transaction.
  var postsMax = 1024
  /// The most bytes of posts in one transaction, but for the last one.
  var postBytesMax = 4 << 20
  /// The most changes of one transaction.
  var changesMax = 1024
  /// The most parked envelopes that one transaction puts in line.
  var placedMax = 1000
  /// How many numbers of envelopes, and of endings, are set apart at a time.
  var serialsAhead: Int64 = 100_000
  /// How many numbers of clients, and of lanes, are set apart at a time.
  var namesAhead: Int64 = 1000
  /// The most lanes whose numbers are known without a question.
  var namesKnownMax = 65_536
  /// How long after an answer the database is taken to be there, in milliseconds.
  var answerTrustedMs: Int64 = 100
  /// The pause before changes that the database has refused are written again, in milliseconds.
  var retryMs: Int64 = 1000
  /// How long the database may be away before nobody waits for it who has written nothing yet, in
  /// milliseconds.
  var lossBorneMs: Int64 = 2000
  /// The time between two looks whether trouble is over while nobody writes, in milliseconds: the
  /// upper one where the database refuses posts again and again, though each look succeeds.
  var lookMs: ClosedRange<Int64> = 1000...16_000
  /// The most acts that are deleted when one is added.
  var auditEntriesForgottenMax: Int64 = 100
  /// The excess at which the event log is cut down: one part in so many.
  var eventLogSlackShare: Int64 = 16
  /// The most rows of the event log that one transaction deletes to make room.
  var eventRowsForgottenMax = 256
  /// The most bytes of events that one transaction deletes, roughly.
  var eventBytesForgottenMax: Int64 = 1 << 20
  /// How long a body is kept that no envelope refers to, since its last piece, in seconds.
  var bodyOrphanAgeS: Int64 = 24 * 60 * 60
  /// The most bodies that are deleted at once.
  var bodiesSweptMax: Int64 = 4
  /// The number of connections that read.
  var readerCount = 3
}
#endif
