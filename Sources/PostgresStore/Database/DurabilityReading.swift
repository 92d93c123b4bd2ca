#if PostgreSQL
import RelayCore

/// What a database shows of how safe its commits are.
package struct DurabilityReading: Sendable, Equatable {
  /// The servers that stream from it, as its role may see them.
  package enum Standbys: Sendable, Equatable {
    /// So many, of which so many confirm commits, and of so many it may not be seen.
    case seen(connected: Int64, confirming: Int64, hidden: Int64)
    /// The database does not let the role look, and says why.
    case refused(String)
  }

  /// What a session of the relay has as `synchronous_commit`.
  package var setting: String
  /// `synchronous_standby_names`.
  package var names: String
  /// The role as SQL writes it.
  package var role: String
  /// nil if they were not looked at.
  package var standbys: Standbys?

  /// Puts the facts together.
  package init(
    setting: String, names: String, role: String, standbys: Standbys? = nil
  ) {
    self.setting = setting
    self.names = names
    self.role = role
    self.standbys = standbys
  }

  /// Why commits may be less safe than is wanted; nil if they are as safe.
  package func doubt(wanting wanted: StoreDurability) -> DurabilityDoubt? {
    switch wanted {
    case .local: nil
    case .managed: setting == "off" ? doubtOfSetting : nil
    case .quorum:
      Self.confirmed.contains(setting) ? doubtOfNames ?? doubtOfStandbys : doubtOfSetting
    }
  }

  /// Why no commit would be confirmed; nil if that is not certain.
  ///
  /// A commit waits for a standby that is named, however long that is away.
  package var standstill: String? {
    guard setting != "off", setting != "local", !names.isEmpty, case .seen(_, 0, 0) = standbys
    else { return nil }
    return "its commits wait for a standby of synchronous_standby_names (\(names)), and none is"
      + " there: bring one back, or empty the names and have the server read them"
  }

  /// The values of `synchronous_commit` by which a commit waits until it is on a standby's disk.
  ///
  /// `remote_write` waits only until the standby's system has it in memory
  /// (<https://www.postgresql.org/docs/15/runtime-config-wal.html>).
  private static let confirmed: Set = ["on", "remote_apply"]

  private var doubtOfSetting: DurabilityDoubt {
    let meaning =
      switch setting {
      case "off": "a crash of the database loses the last posts"
      case "local": "a commit waits for no standby"
      case "remote_write": "a commit waits until a standby has it in memory, and not on its disk"
      default: "it is not known that a commit waits for a standby's disk"
      }
    return DurabilityDoubt(
      isCertain: true, reason: "synchronous_commit is \(setting): \(meaning)",
      fix: "set it to on, where the server, the database or the role \(role) has it")
  }

  private var doubtOfNames: DurabilityDoubt? {
    guard names.isEmpty else { return nil }
    return DurabilityDoubt(
      isCertain: true, reason: "synchronous_standby_names is empty: a commit waits for no standby",
      fix: "bring a standby back, and name it there; Patroni does so with synchronous_mode, and"
        + " keeps the names with synchronous_mode_strict")
  }

  private var doubtOfStandbys: DurabilityDoubt? {
    switch standbys {
    case nil: nil
    case .refused(let words):
      DurabilityDoubt(
        isCertain: false, reason: "the database does not show its standbys: \(words)",
        fix: "GRANT SELECT ON pg_stat_replication TO \(role), and GRANT pg_read_all_stats TO"
          + " \(role)")
    case .seen(_, let confirming, _) where confirming > 0: nil
    // One of these may be it.
    case .seen(_, _, let hidden) where hidden > 0:
      DurabilityDoubt(
        isCertain: false, reason: "the role \(role) may not see whether a standby confirms commits",
        fix: "GRANT pg_read_all_stats TO \(role)")
    case .seen(let connected, _, _):
      DurabilityDoubt(
        isCertain: true,
        reason: "no standby of synchronous_standby_names (\(names)) confirms commits, and "
          + (connected == 0 ? "none is connected" : "\(connected) of other names or states are"),
        fix: "bring one back")
    }
  }
}
#endif
