#if PostgreSQL
import RelayCore

/// What is known of the store without asking the database.
struct StoreFigures: Sendable {
  var counts = StoreCounts()
  var given = GivenNumbers()
  var commits = CommitFigures()
  var receipts = ReceiptTally()
  /// Why nothing can be written at the moment.
  var trouble: String?
  /// What was refused last, in words.
  var refusal: String?
  /// What the database has shown last of how safe its commits are; nil if it was not asked.
  var durability: DurabilityReading?
  /// What the writer's session has as `synchronous_commit`; nil if that is not known yet.
  ///
  /// It may be another value than that of a session that was begun earlier or later.
  var writersSetting: String?
  /// Whether a transaction has told that since the last look at the database.
  var isWritersSettingNew = false
}
#endif
