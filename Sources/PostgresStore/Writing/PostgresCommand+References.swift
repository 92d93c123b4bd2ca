#if PostgreSQL
import Postgres
import RelayCore

extension PostgresCommand {
  /// Notes in line which of some waiting envelopes refer to earlier answers.
  ///
  /// Few do; so the others' rows are written once, without it.
  static func noteReferring(_ serials: [Serial]) -> PostgresCommand {
    PostgresCommand(
      """
      UPDATE line SET refers = true FROM envelope
      WHERE line.serial = ANY($1) AND envelope.serial = line.serial AND envelope.refers
      """, [.int64s(serials)])
  }
}
#endif
