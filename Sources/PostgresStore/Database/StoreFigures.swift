#if PostgreSQL
import RelayCore

/// What is known of the store without asking the database.
struct StoreFigures: Sendable {
  var standing: [Standing: Int64] = [:]
  var ended: [EnvelopeState: Int64] = [:]
  var contentBytes: Int64 = 0
  var given = GivenNumbers()
  var commits = CommitFigures()
  /// Why nothing can be written at the moment.
  var trouble: String?
  /// What was refused last, in words.
  var refusal: String?
}
#endif
