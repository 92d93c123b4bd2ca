import RelayCore
import SQLite

// A move carries rows over as they are, and what they lack would be missed only when a relay comes
// to it. So both ends of a move are held to some of the rules.
extension StoreRule {
  /// The rules by whose breach something is lost, or not delivered.
  ///
  /// Others are about what a move makes anew, or cost a relay nothing but a figure.
  private static let kindsOfMoved: Set = [
    "line-without-envelope", "ended-without-envelope", "envelope-without-state",
    "envelope-with-two-states", "envelope-without-body", "unknown-state", "client-without-name",
    "lane-without-name", "upstream-without-name", "lane-of-another-client", "two-upstreams",
  ]

  static let ofMoved = all.filter { kindsOfMoved.contains($0.kind) }

  /// All of these rules in one walk along the envelopes, which takes a fifth of the time of one
  /// walk for each: the number of rows of each state that have an envelope, and of envelopes that
  /// break a rule.
  private static let walk = """
    SELECT count(s.serial), count(d.serial), total( \
    (s.serial IS NULL) = (d.serial IS NULL) OR (e.body IS NULL AND f.serial IS NULL) \
    OR l.client IS NOT e.client OR c.number IS NULL OR u.number IS NULL \
    OR s.client <> e.client OR s.lane <> e.lane OR s.upstream <> e.upstream \
    OR s.standing NOT IN \(Standing.codeList) OR d.state NOT IN \(EnvelopeState.endCodeList)), \
    (SELECT count(*) FROM line), (SELECT count(*) FROM ended) \
    FROM envelope AS e LEFT JOIN line AS s ON s.serial = e.serial \
    LEFT JOIN ended AS d ON d.serial = e.serial LEFT JOIN body_file AS f ON f.serial = e.serial \
    LEFT JOIN lane AS l ON l.number = e.lane LEFT JOIN client AS c ON c.number = e.client \
    LEFT JOIN upstream AS u ON u.number = e.upstream
    """

  /// What a store breaks of them, in a few words; nil if nothing.
  static func damageOfMoved(_ connection: borrowing Connection) throws(StoreError) -> String? {
    let walk = try Statement(walk, on: connection)
    if try walk.step(), walk.int(2) == 0, walk.int(0) == walk.int(3), walk.int(1) == walk.int(4) {
      return nil
    }
    var damage: [String] = []
    for rule in ofMoved {
      let row = try Statement(rule.sql, on: connection)
      var count = 0
      var first = ""
      while try row.step() {
        if count == 0 { first = row.text(0) ?? "" }
        count += 1
      }
      if count > 0 { damage.append("\(rule.kind): \(count), the first is \(first)") }
    }
    return damage.isEmpty ? nil : damage.joined(separator: "; ")
  }
}
