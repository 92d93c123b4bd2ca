/// What a store consists of, in a form that all kinds of stores read and write.
///
/// `docs/decisions/0060-moving-between-stores.md` gives the reasons. The names are those of the
/// tables in a database; the order is that in which they are written: what refers to a row comes
/// after it.
package enum MovedTable: String, CaseIterable, Sendable {
  /// One row: up to where numbers have been given out.
  case given
  case client
  /// With the counts of what has ended, all added up.
  case lane
  case upstream
  case paused
  /// Large bodies, in pieces of ``pieceBytes``; only those that an envelope refers to.
  case bodyChunk = "body_chunk"
  case envelope
  case line
  case ended
  case attempt
  case response
  case keyIndex = "key_index"
  case formerKey = "former_key"
  /// Keys whose envelopes are forgotten.
  case rememberedKey = "remembered_key"
  case nameIndex = "name_index"
  case sequenceIndex = "sequence_index"
  case gap
  case moved
  case checksIn = "checks_in"
  case ending
  case token
  case audit
  case operation
  case history
  /// One row: what tells this log's events from those of another store's.
  case eventOrigin = "event_origin"
  case eventLog = "event_log"
  /// One row: the store's identity in receipts.
  case receiptOrigin = "receipt_origin"
  /// The groups of receipts.
  case receipt
  /// The entries of evidence lanes' ledgers.
  case laneLedger = "lane_ledger"

  /// The length of each piece of a large body but the last one.
  package static let pieceBytes = 256 << 10
  /// The most rows that are handed on at once.
  package static let rowsMax = 4096
  /// The bytes from which on no more rows are handed on at once.
  package static let bytesMax = 4 << 20

  /// What the table has, for people.
  package var title: String {
    switch self {
    case .bodyChunk: "large bodies"
    case .line: "waiting envelopes"
    case .ended: "ended envelopes"
    default: rawValue.withEach("_", as: " ")
    }
  }
}

/// A column of a table that is moved.
package struct MovedColumn: Equatable, Sendable {
  /// What its values are, for stores that set kinds of numbers apart.
  package enum Kind: Sendable {
    case int64, int32, int16, flag, text, bytes, uuid
  }

  /// Its name in a database.
  package let name: String
  /// What its values are.
  package let kind: Kind

  /// Names a column.
  package init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
  }

  fileprivate static func numbers(_ names: String...) -> [MovedColumn] {
    names.map { MovedColumn($0, .int64) }
  }
}

extension MovedTable {
  /// How many of the first columns tell a row from all others, and order the rows; 0 for one row.
  package var keyCount: Int {
    switch self {
    case .given, .eventOrigin, .receiptOrigin: 0
    case .paused, .bodyChunk, .attempt, .keyIndex, .formerKey, .nameIndex, .sequenceIndex, .gap,
      .ending, .history:
      2
    case .client, .lane, .upstream, .envelope, .line, .ended, .response, .moved, .checksIn, .token,
      .audit, .operation, .eventLog, .receipt, .laneLedger, .rememberedKey:
      1
    }
  }

  /// The columns, the key first.
  package var columns: [MovedColumn] {
    switch self {
    case .given: MovedColumn.numbers("serial", "client", "lane", "ending")
    case .client: [.init("number", .int64), .init("name", .text)]
    case .lane:
      MovedColumn.numbers("number", "client") + [.init("name", .text)]
        + MovedColumn.numbers("last_sequence", "placed_through") + [.init("chain", .bytes)]
        + EnvelopeState.ends.map { .init($0.rawValue, .int64) }
    case .upstream:
      [.init("number", .int32), .init("name", .text), .init("started_paused", .flag)]
    case .paused: [.init("kind", .int16), .init("number", .int64)]
    case .bodyChunk: [.init("body", .uuid), .init("n", .int32), .init("bytes", .bytes)]
    case .envelope: Self.envelopeColumns
    case .line: Self.lineColumns
    case .ended: Self.endedColumns
    case .attempt:
      MovedColumn.numbers("serial", "number", "started_at", "duration_ms")
        + [.init("outcome", .int16), .init("status", .int32), .init("error", .text)]
    case .response:
      [
        .init("serial", .int64), .init("status", .int32), .init("is_truncated", .flag),
        .init("headers", .bytes), .init("body", .bytes),
      ]
    case .keyIndex, .formerKey, .rememberedKey, .nameIndex, .sequenceIndex, .gap, .moved:
      indexColumns
    case .checksIn: [.init("client", .int64), .init("is_filled", .flag)]
    case .ending: MovedColumn.numbers("client", "number", "serial")
    case .token, .audit, .operation, .history: operatorColumns
    case .eventOrigin: MovedColumn.numbers("origin")
    case .eventLog:
      MovedColumn.numbers("number", "at", "bytes_through") + [.init("entries", .bytes)]
    case .receiptOrigin: [.init("id", .bytes)]
    case .receipt:
      MovedColumn.numbers("number", "at") + [.init("payload", .bytes), .init("leaves", .bytes)]
    case .laneLedger:
      MovedColumn.numbers("number", "at", "lane", "sequence", "serial")
        + [
          .init("digest", .bytes), .init("link", .bytes), .init("state", .int16),
          .init("status", .int32), .init("response", .bytes), .init("ended_at", .int64),
        ]
    }
  }

  private var indexColumns: [MovedColumn] {
    switch self {
    case .keyIndex:
      [
        .init("client", .int64), .init("key", .text), .init("serial", .int64),
        .init("fingerprint", .bytes),
      ]
    case .formerKey: MovedColumn.numbers("serial", "revision") + [.init("key", .text)]
    case .rememberedKey:
      [.init("digest", .bytes), .init("ended_at", .int64), .init("fingerprint", .bytes)]
    case .nameIndex: [.init("lane", .int64), .init("name", .text), .init("serial", .int64)]
    case .sequenceIndex: MovedColumn.numbers("lane", "number", "serial")
    case .gap: MovedColumn.numbers("lane", "first", "last") + [.init("is_skipped", .flag)]
    default: MovedColumn.numbers("old", "new")
    }
  }

  private static let envelopeColumns: [MovedColumn] = [
    .init("serial", .int64), .init("id", .uuid), .init("client", .int64), .init("lane", .int64),
    .init("upstream", .int32), .init("key", .text), .init("fingerprint", .bytes),
    .init("sequence", .int64), .init("tag", .text), .init("hold", .flag),
    .init("not_before", .int64), .init("expires_at", .int64), .init("on_failure", .int16),
    .init("refers", .flag), .init("coalesce", .text), .init("revision", .int64),
    .init("method", .text), .init("target", .bytes), .init("headers", .bytes),
    .init("body", .bytes), .init("body_file", .uuid), .init("body_bytes", .int64),
    .init("body_checksum", .int64), .init("covered_digest", .bytes),
  ]

  private static let lineColumns: [MovedColumn] = [
    .init("serial", .int64), .init("client", .int64), .init("lane", .int64),
    .init("upstream", .int32), .init("accepted_at", .int64), .init("expires_at", .int64),
    .init("standing", .int16), .init("on_failure", .int16), .init("due_at", .int64),
    .init("attempts", .int64), .init("in_doubt", .flag), .init("bytes", .int64),
    .init("refers", .flag), .init("reason", .text),
  ]

  private static let endedColumns: [MovedColumn] = [
    .init("serial", .int64), .init("state", .int16), .init("ended_at", .int64),
    .init("attempts", .int64), .init("in_doubt", .flag), .init("reason", .text),
    .init("attempt_number", .int64), .init("attempt_started_at", .int64),
    .init("attempt_duration_ms", .int64), .init("attempt_outcome", .int16),
    .init("attempt_status", .int32), .init("attempt_error", .text), .init("ending", .int64),
  ]

  private var operatorColumns: [MovedColumn] {
    switch self {
    case .token:
      [
        .init("id", .text), .init("kind", .int16), .init("client", .text),
        .init("digest", .bytes), .init("label", .text), .init("created_at", .int64),
        .init("expires_at", .int64), .init("renewable_until", .int64),
        .init("renewal_ms", .int64), .init("renewals", .int64), .init("renewed_at", .int64),
        .init("renewal_seed", .bytes), .init("former_digest", .bytes),
        .init("former_expires_at", .int64),
      ]
    case .audit:
      [
        .init("number", .int64), .init("at", .int64), .init("who", .text), .init("role", .text),
        .init("action", .text), .init("subject", .text), .init("result", .int16),
        .init("status", .int32), .init("detail", .text),
      ]
    case .operation: Self.operationColumns
    default:
      [.init("upstream", .int32)]
        + MovedColumn.numbers("minute", "accepted", "delivered", "failed", "waiting")
        + [.init("delays", .bytes)]
    }
  }

  private static let operationColumns: [MovedColumn] = [
    .init("number", .int64), .init("started_at", .int64), .init("who", .text),
    .init("action", .text), .init("client", .text), .init("lane", .text),
    .init("upstream", .text), .init("tag", .text), .init("states", .text),
    .init("accepted_since", .int64), .init("accepted_until", .int64),
    .init("ended_since", .int64), .init("ended_until", .int64), .init("status", .int64),
    .init("reason", .text), .init("error_id", .text), .init("matched", .int64),
    .init("has_more", .flag), .init("has_fresh_keys", .flag), .init("done", .int64),
    .init("failed", .int64), .init("state", .int16), .init("ended_at", .int64),
    .init("refusals", .text),
  ]

  /// The place of a column.
  ///
  /// - Precondition: the table has one of this name.
  package func place(of column: String) -> Int {
    guard let place = columns.firstIndex(where: { $0.name == column }) else {
      preconditionFailure("no column \(column) in \(rawValue)")
    }
    return place
  }
}
