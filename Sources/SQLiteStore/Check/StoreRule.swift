/// Something that holds in every sound store, as a question for those rows in which it does not.
struct StoreRule {
  /// A word for what is found.
  let kind: String
  /// What it means, in a sentence.
  let meaning: String
  /// Selects what is wrong; the first column names it.
  let sql: String

  private static let lost = "Their content is lost; they cannot be delivered."
  private static let orphan = "They belong to envelopes that are lost."

  private static func orphans(in table: String, _ name: String = "serial") -> StoreRule {
    StoreRule(
      kind: "\(table.replacing("_", with: "-"))-without-envelope", meaning: orphan,
      sql: "SELECT \(name) FROM \(table) WHERE serial NOT IN (SELECT serial FROM envelope)")
  }

  /// All of them, for the schema's latest version.
  static let all: [StoreRule] =
    envelopes + names + [
      orphans(in: "response"), orphans(in: "attempt"), orphans(in: "coalesced_key"),
      orphans(in: "coalesce_index"), orphans(in: "key_index", "key"),
      orphans(in: "body_file", "name"),
    ] + numbers + others

  private static let envelopes = [
    StoreRule(
      kind: "line-without-envelope", meaning: "What waits has a place and no content. \(lost)",
      sql: "SELECT serial FROM line WHERE serial NOT IN (SELECT serial FROM envelope)"),
    StoreRule(
      kind: "ended-without-envelope", meaning: "What has ended cannot be looked up.",
      sql: "SELECT serial FROM ended WHERE serial NOT IN (SELECT serial FROM envelope)"),
    StoreRule(
      kind: "envelope-without-state",
      meaning: "They neither wait nor have ended; they are not delivered.",
      sql: """
        SELECT serial FROM envelope WHERE serial NOT IN (SELECT serial FROM line) \
        AND serial NOT IN (SELECT serial FROM ended)
        """),
    StoreRule(
      kind: "envelope-with-two-states", meaning: "They wait though they have ended.",
      sql: "SELECT serial FROM line WHERE serial IN (SELECT serial FROM ended)"),
    StoreRule(
      kind: "envelope-without-body", meaning: lost,
      sql: """
        SELECT serial FROM envelope WHERE body IS NULL \
        AND serial NOT IN (SELECT serial FROM body_file)
        """),
    StoreRule(
      kind: "unknown-state", meaning: "The relay does not know the state that is written there.",
      sql: """
        SELECT serial FROM line WHERE standing NOT BETWEEN 0 AND 3 UNION ALL \
        SELECT serial FROM ended WHERE state NOT BETWEEN 1 AND 4
        """),
  ]

  private static func nameless(_ name: String) -> StoreRule {
    StoreRule(
      kind: "\(name)-without-name", meaning: "Rows speak of a \(name) whose name is lost.",
      sql: """
        SELECT \(name) FROM (SELECT DISTINCT \(name) FROM line UNION \
        SELECT DISTINCT \(name) FROM envelope) WHERE \(name) NOT IN (SELECT number FROM \(name))
        """)
  }

  private static let names = [
    nameless("client"), nameless("lane"), nameless("upstream"),
    StoreRule(
      kind: "lane-of-another-client",
      meaning: "A lane and what stands in it have not one client.",
      sql: """
        SELECT s.serial FROM line AS s LEFT JOIN lane AS l ON l.number = s.lane \
        WHERE l.client IS NOT s.client UNION \
        SELECT e.serial FROM envelope AS e JOIN lane AS l ON l.number = e.lane \
        WHERE l.client <> e.client UNION \
        SELECT s.serial FROM line AS s JOIN envelope AS e USING (serial) \
        WHERE s.client <> e.client OR s.lane <> e.lane
        """),
    StoreRule(
      kind: "paused-nothing", meaning: "What is paused is not there.",
      sql: """
        SELECT kind || ' ' || number FROM paused WHERE CASE kind \
        WHEN 0 THEN number NOT IN (SELECT number FROM upstream) \
        WHEN 1 THEN number NOT IN (SELECT number FROM client) \
        WHEN 2 THEN number NOT IN (SELECT number FROM lane) ELSE 1 END
        """),
  ]

  private static let numbers = [
    StoreRule(
      kind: "key-not-known", meaning: "A post that comes again under such a key is stored twice.",
      sql: """
        SELECT e.serial FROM envelope AS e WHERE e.key IS NOT NULL AND NOT EXISTS (\
        SELECT 1 FROM key_index AS k WHERE k.client = e.client AND k.key = e.key)
        """),
    StoreRule(
      kind: "number-not-known",
      meaning: "A post that comes again under such a sequence number is not known again.",
      // Before schema 4 there was no such index: those numbers are passed over, and answered so.
      sql: """
        SELECT e.serial FROM envelope AS e WHERE e.sequence IS NOT NULL AND NOT EXISTS (\
        SELECT 1 FROM sequence_index AS n WHERE n.lane = e.lane AND n.sequence = e.sequence) \
        AND NOT EXISTS (SELECT 1 FROM gap AS g WHERE g.lane = e.lane AND g.is_skipped \
        AND e.sequence BETWEEN g.first AND g.last)
        """),
    StoreRule(
      kind: "number-without-envelope",
      meaning: "Sequence numbers stand for envelopes that are lost.",
      sql: """
        SELECT n.lane || '/' || n.sequence FROM sequence_index AS n \
        LEFT JOIN parked_lane AS p ON p.lane = n.lane \
        WHERE (p.lane IS NULL OR n.sequence <= p.placed_through) \
        AND n.serial NOT IN (SELECT serial FROM envelope)
        """),
    StoreRule(
      kind: "parked-for-nothing", meaning: "They are parked in lanes that wait for no number.",
      sql: """
        SELECT serial FROM line \
        WHERE standing = 3 AND lane NOT IN (SELECT lane FROM parked_lane)
        """),
    StoreRule(
      kind: "lane-that-cannot-go-on",
      meaning: "Of some sequence numbers nobody knows whether they came: what is behind them waits "
        + "for good.",
      sql: """
        SELECT p.lane FROM parked_lane AS p JOIN lane AS l ON l.number = p.lane \
        WHERE l.last_sequence - p.placed_through <> \
        (SELECT count(*) FROM sequence_index AS n WHERE n.lane = p.lane \
        AND n.sequence > p.placed_through) + \
        (SELECT coalesce(sum(g.last - max(g.first, p.placed_through + 1) + 1), 0) FROM gap AS g \
        WHERE g.lane = p.lane AND g.last > p.placed_through)
        """),
    StoreRule(
      kind: "moved-to-nowhere", meaning: "Ids lead to envelopes that are lost.",
      sql: "SELECT serial FROM moved WHERE place NOT IN (SELECT serial FROM envelope)"),
  ]

  /// Tokens with which a relay does not start.
  static let tokens = StoreRule(
    kind: "senseless-token", meaning: "What they are makes no sense; the relay does not start.",
    sql: """
      SELECT id FROM token WHERE kind NOT BETWEEN 0 AND 3 \
      OR (client IS NOT NULL) <> (kind IN (0, 3)) \
      OR length(digest) <> CASE kind WHEN 3 THEN 0 ELSE 32 END
      """)

  private static let others = [
    tokens,
    StoreRule(
      kind: "senseless-history", meaning: "The charts show what cannot have been.",
      sql: """
        SELECT upstream || '/' || minute FROM history \
        WHERE min(upstream, minute, accepted, delivered, failed, waiting) < 0
        """),
    StoreRule(
      kind: "senseless-operation", meaning: "GET /v1/operations cannot be answered.",
      sql: """
        SELECT number FROM operation WHERE state NOT BETWEEN 0 AND 3 \
        OR action NOT IN ('retry', 'discard', 'requeue', 'cancel')
        """),
    StoreRule(
      kind: "ending-without-end", meaning: "A client is to be told of endings that are lost.",
      sql: "SELECT number FROM ending WHERE serial NOT IN (SELECT serial FROM ended)"),
    StoreRule(
      kind: "hole-in-event-log", meaning: "Those who listen to events miss some, and are not told.",
      sql: """
        SELECT number FROM event_log AS e WHERE number > (SELECT min(number) FROM event_log) \
        AND NOT EXISTS (SELECT 1 FROM event_log AS b WHERE b.number = e.number - 1)
        """),
    StoreRule(
      kind: "counts-differ", meaning: "The counts on /status are not those of the rows.",
      sql: """
        SELECT 'ledger' FROM (SELECT \(StoreCounts.columns) FROM ledger EXCEPT \
        \(StoreCounts.selection))
        """),
    StoreRule(
      kind: "line-bytes-differ", meaning: "They count for more or less in their client's quota.",
      sql: """
        SELECT serial FROM line WHERE serial IN (SELECT serial FROM envelope) \
        AND bytes <> \(StoreCounts.lineBytes)
        """),
    StoreRule(
      kind: "reference-not-marked",
      meaning: "What they refer to may be forgotten before it is their turn, or kept for nothing.",
      sql: """
        SELECT s.serial FROM line AS s JOIN envelope AS e USING (serial) \
        WHERE s.refers <> e.has_references
        """),
    StoreRule(
      kind: "number-given-out-twice",
      meaning: "The next envelope would get a number that another one has.",
      sql: """
        SELECT last_serial FROM ledger WHERE last_serial < max(\
        (SELECT coalesce(max(serial), 0) FROM envelope), \
        (SELECT coalesce(max(serial), 0) FROM line), (SELECT coalesce(max(serial), 0) FROM ended))
        """),
    StoreRule(
      kind: "name-given-out-twice",
      meaning: "The next client or lane would get a number that another one has.",
      sql: """
        SELECT last_client || '/' || last_lane FROM ledger WHERE \
        last_client < (SELECT coalesce(max(number), 0) FROM client) \
        OR last_lane < (SELECT coalesce(max(number), 0) FROM lane)
        """),
    StoreRule(
      kind: "lanes-counted-wrong",
      meaning: "A client may have more lanes than its limit, or fewer.",
      sql: """
        SELECT number FROM client WHERE lane_count <> \
        (SELECT count(*) FROM lane WHERE lane.client = client.number)
        """),
    StoreRule(
      kind: "nothing-to-begin-with", meaning: "A row is lost that every store has.",
      sql: """
        SELECT 'ledger' WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE number = 1) UNION ALL \
        SELECT 'event_origin' WHERE NOT EXISTS (SELECT 1 FROM event_origin)
        """),
  ]
}
