import RelayCore

/// A rule that every sound store meets, as a query for the rows that break it.
struct StoreRule {
  /// A word for the finding.
  let kind: String
  /// The meaning, in a sentence.
  let meaning: String
  /// The query for the faulty rows; its first column names them.
  let sql: String

  private static let lost = "Their content is lost; they cannot be delivered."
  private static let orphan = "They belong to envelopes that are lost."

  private static func orphans(in table: String, _ name: String = "serial") -> StoreRule {
    StoreRule(
      kind: "\(table.replacing("_", with: "-"))-without-envelope", meaning: orphan,
      sql: "SELECT \(name) FROM \(table) WHERE serial NOT IN (SELECT serial FROM envelope)")
  }

  /// All rules, for the schema's latest version.
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
      kind: "ended-without-envelope", meaning: "Ended envelopes cannot be looked up.",
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
      kind: "unknown-state", meaning: "The relay does not know the state that is stored.",
      sql: """
        SELECT serial FROM line WHERE standing NOT IN \(Standing.codeList) UNION ALL \
        SELECT serial FROM ended WHERE state NOT IN \(EnvelopeState.endCodeList)
        """),
    StoreRule(
      kind: "unknown-outcome",
      meaning: "The relay does not know the outcome of an attempt that is stored.",
      sql: """
        SELECT serial FROM attempt WHERE outcome NOT IN \(Outcome.codeList) UNION ALL \
        SELECT serial FROM ended WHERE attempt_outcome NOT IN \(Outcome.codeList)
        """),
  ]

  private static func nameless(_ name: String, article: String = "a") -> StoreRule {
    StoreRule(
      kind: "\(name)-without-name",
      meaning: "Rows refer to \(article) \(name) whose name is lost.",
      sql: """
        SELECT \(name) FROM (SELECT DISTINCT \(name) FROM line UNION \
        SELECT DISTINCT \(name) FROM envelope) WHERE \(name) NOT IN (SELECT number FROM \(name))
        """)
  }

  private static let names = [
    nameless("client"), nameless("lane"), nameless("upstream", article: "an"),
    StoreRule(
      kind: "lane-of-another-client",
      meaning: "A lane and its envelopes belong to different clients.",
      sql: """
        SELECT s.serial FROM line AS s LEFT JOIN lane AS l ON l.number = s.lane \
        WHERE l.client IS NOT s.client UNION \
        SELECT e.serial FROM envelope AS e JOIN lane AS l ON l.number = e.lane \
        WHERE l.client <> e.client UNION \
        SELECT s.serial FROM line AS s JOIN envelope AS e USING (serial) \
        WHERE s.client <> e.client OR s.lane <> e.lane
        """),
    StoreRule(
      kind: "two-upstreams",
      meaning: "Two tables name different upstreams for what waits; one of them is wrong.",
      sql: """
        SELECT s.serial FROM line AS s JOIN envelope AS e USING (serial) \
        WHERE s.upstream <> e.upstream
        """),
    StoreRule(
      kind: "paused-nothing", meaning: "A pause names something that does not exist.",
      sql: """
        SELECT kind || ' ' || number FROM paused WHERE CASE kind \(pausedNothing) ELSE 1 END
        """),
  ]

  private static let pausedNothing = PauseTarget.Kind.allCases.map {
    "WHEN \($0.code) THEN number NOT IN (SELECT number FROM \($0.table))"
  }.joined(separator: " ")

  private static let numbers = [
    StoreRule(
      kind: "key-not-known", meaning: "A repeated post with such a key is stored twice.",
      sql: """
        SELECT e.serial FROM envelope AS e WHERE e.key IS NOT NULL AND NOT EXISTS (\
        SELECT 1 FROM key_index AS k WHERE k.client = e.client AND k.key = e.key)
        """),
    StoreRule(
      kind: "number-not-known",
      meaning: "A repeated post with such a sequence number is not recognised.",
      // Before schema 4 there was no such index: those numbers are passed over, and answered so.
      sql: """
        SELECT e.serial FROM envelope AS e WHERE e.sequence IS NOT NULL AND NOT EXISTS (\
        SELECT 1 FROM sequence_index AS n WHERE n.lane = e.lane AND n.sequence = e.sequence) \
        AND NOT EXISTS (SELECT 1 FROM gap AS g WHERE g.lane = e.lane AND g.is_skipped \
        AND e.sequence BETWEEN g.first AND g.last)
        """),
    StoreRule(
      kind: "number-without-envelope",
      meaning: "Sequence numbers belong to envelopes that are lost.",
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
        WHERE standing = \(Standing.parked.code) AND lane NOT IN (SELECT lane FROM parked_lane)
        """),
    StoreRule(
      kind: "lane-that-cannot-go-on",
      meaning: "It is not known whether some sequence numbers came: envelopes after them wait "
        + "for ever.",
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

  /// The rule for tokens with which a relay does not start.
  static let tokens = StoreRule(
    kind: "invalidRow-token", meaning: "Their contents make no sense; the relay does not start.",
    sql: """
      SELECT id FROM token WHERE CASE kind \(brokenTokens) ELSE 1 END OR \(brokenRenewal)
      """)

  private static let brokenTokens = TokenRecord.Grant.Kind.allCases.map {
    "WHEN \($0.code) THEN client IS \($0.namesClient ? "" : "NOT ")NULL "
      + "OR length(digest) <> \($0.digestBytes)"
  }.joined(separator: " ")

  private static let brokenRenewal = """
    (renewable_until IS NULL) <> (renewal_ms IS NULL) \
    OR renewable_until IS NULL AND renewals IS NOT NULL \
    OR (renewals IS NULL) + (renewed_at IS NULL) + (renewal_seed IS NULL) \
    + (former_digest IS NULL) + (former_expires_at IS NULL) NOT IN (0, 5) \
    OR length(former_digest) <> \(TokenRecord.Grant.Kind.client.digestBytes)
    """

  private static let others = [
    tokens,
    StoreRule(
      kind: "invalidRow-history", meaning: "The charts show impossible figures.",
      sql: """
        SELECT upstream || '/' || minute FROM history \
        WHERE min(upstream, minute, accepted, delivered, failed, waiting) < 0
        """),
    StoreRule(
      kind: "invalidRow-operation", meaning: "GET /v1/operations cannot be answered.",
      sql: """
        SELECT number FROM operation WHERE state NOT IN \(Operation.State.codeList) \
        OR action NOT IN \(Operation.Action.wordList)
        """),
    StoreRule(
      kind: "invalidRow-audit", meaning: "GET /v1/audit cannot be answered.",
      sql: "SELECT number FROM audit WHERE result NOT IN \(AuditEnd.Result.codeList)"),
    StoreRule(
      kind: "ending-without-end", meaning: "A client should be told of ends that are lost.",
      sql: "SELECT number FROM ending WHERE serial NOT IN (SELECT serial FROM ended)"),
    StoreRule(
      kind: "invalidRow-ledger", meaning: "No page of these lanes' ledgers can be believed.",
      sql: """
        SELECT lane || '/' || sequence FROM lane_ledger \
        WHERE length(digest) <> \(LaneChain.digestBytes) \
        OR length(link) <> \(LaneChain.digestBytes) OR sequence < 1 \
        OR length(response) NOT IN (0, \(LaneChain.digestBytes)) \
        OR state NOT IN \(EnvelopeState.endCodeList) OR status NOT BETWEEN 0 AND 999
        """),
    StoreRule(
      kind: "ledger-without-end",
      meaning: "Ledgers of evidence lanes never say how these numbers ended.",
      sql: """
        SELECT lane || '/' || sequence FROM lane_ledger WHERE state IS NULL \
        AND serial NOT IN (SELECT serial FROM envelope)
        """),
    StoreRule(
      kind: "hole-in-receipts", meaning: "Whoever keeps receipts takes the relay for a liar.",
      sql: """
        SELECT number FROM receipt AS r WHERE number > (SELECT min(number) FROM receipt) \
        AND NOT EXISTS (SELECT 1 FROM receipt AS b WHERE b.number = r.number - 1)
        """),
    StoreRule(
      kind: "hole-in-event-log", meaning: "Listeners miss some events, and are not told.",
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
      meaning: "Envelopes that they refer to may be forgotten too early, or kept for nothing.",
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
        SELECT 'event_origin' WHERE NOT EXISTS (SELECT 1 FROM event_origin) UNION ALL \
        SELECT 'receipt_origin' WHERE NOT EXISTS (SELECT 1 FROM receipt_origin)
        """),
  ]
}
