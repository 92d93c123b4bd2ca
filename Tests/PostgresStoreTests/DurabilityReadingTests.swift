#if PostgreSQL
import PostgresStore
import RelayCore
import Testing

@Suite("How safe a database's commits are, by what it shows")
struct DurabilityReadingTests {
  /// Of a database with one synchronous standby.
  private static func reading(
    _ setting: String = "on", names: String = "ANY 1 (standby)",
    standbys: DurabilityReading.Standbys = .seen(connected: 1, confirming: 1, hidden: 0)
  ) -> DurabilityReading {
    DurabilityReading(setting: setting, names: names, role: "waystation", standbys: standbys)
  }

  @Test("nothing is asked of a database of which one server is enough")
  func local() {
    let worst = Self.reading(
      "off", names: "", standbys: .seen(connected: 0, confirming: 0, hidden: 0))
    #expect(worst.doubt(wanting: .local) == nil)
  }

  @Test(
    "a quorum needs commits that wait for a standby's disk",
    arguments: [
      ("on", true), ("remote_apply", true), ("remote_write", false), ("local", false),
      ("off", false), ("something new", false),
    ])
  func settings(setting: String, isEnough: Bool) throws {
    let doubt = Self.reading(setting).doubt(wanting: .quorum)
    #expect((doubt == nil) == isEnough)
    guard let doubt else { return }
    #expect(doubt.isCertain)
    #expect(doubt.reason.hasPrefix("synchronous_commit is \(setting): "))
  }

  @Test(
    "a managed database is asked for the primary's disk alone",
    arguments: [
      ("on", true), ("remote_apply", true), ("remote_write", true), ("local", true),
      ("off", false),
    ])
  func managed(setting: String, isEnough: Bool) {
    let reading = DurabilityReading(setting: setting, names: "", role: "waystation")
    #expect((reading.doubt(wanting: .managed) == nil) == isEnough)
  }

  @Test("names that are empty mean that no commit waits, whoever streams")
  func emptyNames() {
    let doubt = Self.reading(names: "").doubt(wanting: .quorum)
    #expect(doubt?.isCertain == true)
    #expect(doubt?.reason.hasPrefix("synchronous_standby_names is empty") == true)
    #expect(doubt?.fix.contains("synchronous_mode_strict") == true)
  }

  @Test("a standby that confirms commits is enough, whatever others may not be seen")
  func confirming() {
    for standbys in [
      DurabilityReading.Standbys.seen(connected: 1, confirming: 1, hidden: 0),
      .seen(connected: 3, confirming: 1, hidden: 2),
    ] { #expect(Self.reading(standbys: standbys).doubt(wanting: .quorum) == nil) }
  }

  @Test(
    "no standby that confirms commits is told with how many are connected",
    arguments: [(0, "none is connected"), (2, "2 of other names or states are")])
  func none(connected: Int64, words: String) {
    let doubt = Self.reading(standbys: .seen(connected: connected, confirming: 0, hidden: 0))
      .doubt(wanting: .quorum)
    #expect(doubt?.isCertain == true)
    #expect(doubt?.reason.hasSuffix("(ANY 1 (standby)) confirms commits, and \(words)") == true)
  }

  @Test("standbys that the role may not see leave it open, and the GRANT that mends it is named")
  func hidden() {
    var reading = Self.reading(standbys: .seen(connected: 1, confirming: 0, hidden: 1))
    reading.role = "\"way station\""
    let doubt = reading.doubt(wanting: .quorum)
    #expect(doubt?.isCertain == false)
    #expect(doubt?.fix == "GRANT pg_read_all_stats TO \"way station\"")
    let refused = Self.reading(standbys: .refused("permission denied for view pg_stat_replication"))
      .doubt(wanting: .quorum)
    #expect(refused?.isCertain == false)
    #expect(refused?.reason.hasSuffix("permission denied for view pg_stat_replication") == true)
    #expect(refused?.fix.contains("GRANT SELECT ON pg_stat_replication TO waystation") == true)
  }

  @Test("what is certain goes before what cannot be seen")
  func certain() {
    let hidden = DurabilityReading.Standbys.seen(connected: 1, confirming: 0, hidden: 1)
    #expect(Self.reading("off", standbys: hidden).doubt(wanting: .quorum)?.isCertain == true)
    #expect(Self.reading(names: "", standbys: hidden).doubt(wanting: .quorum)?.isCertain == true)
  }
}

#endif
