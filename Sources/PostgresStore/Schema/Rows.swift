#if PostgreSQL
import Postgres
import RelayCore

/// A row of `line`.
struct WaitingRow: Equatable {
  /// The place; its serial may differ from the one that it is stored under while it is moved.
  var entry: LineEntry
  var shard: Int32
  var bytes: Int64
  var attempts: Int64
  var reason: String?

  static let columns = """
    line.serial, line.client, line.lane, line.upstream, line.accepted_at, line.expires_at, \
    line.standing, line.on_failure, line.due_at, line.attempts, line.in_doubt, line.shard, \
    line.bytes, line.reason
    """
  static let columnCount = 14

  init(entry: LineEntry, shard: Int32, bytes: Int64, reason: String? = nil) {
    self.entry = entry
    self.shard = shard
    self.bytes = bytes
    attempts = Int64(entry.attempts)
    self.reason = reason
  }

  /// Reads ``columns``, which have to come first.
  init(_ rows: PostgresRows, _ row: Int) throws(StoreError) {
    attempts = rows.int64(row, 9)
    entry = LineEntry(
      serial: rows.int64(row, 0), client: ClientNumber(rawValue: rows.int64(row, 1)),
      lane: LaneNumber(rawValue: rows.int64(row, 2)),
      upstream: UpstreamNumber(rawValue: rows.int32(row, 3)),
      acceptedAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 4)),
      expiresAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 5)),
      standing: try Standing(stored: rows.int16(row, 6)),
      onFailure: FailurePolicy(code: Int64(rows.int16(row, 7))),
      dueAt: WallTime(stored: rows.int64OrNil(row, 8)),
      attempts: Int32(truncatingIfNeeded: attempts), isInDoubt: rows.bool(row, 10))
    shard = rows.int32(row, 11)
    bytes = rows.int64(row, 12)
    reason = rows.textOrNil(row, 13)
  }
}

/// A row of `ended`.
struct EndedRow: Equatable {
  var serial: Serial
  var shard: Int32
  var client: ClientNumber
  var lane: LaneNumber
  var upstream: UpstreamNumber
  var acceptedAt: WallTime
  var state: EnvelopeState
  var endedAt: WallTime
  var attempts: Int64
  var isInDoubt: Bool
  var bytes: Int64
  var reason: String?
  var attempt: AttemptRecord?
  /// The number under which its client is told of it; nil if it is not told.
  var ending: EndingNumber?

  static let columns = """
    ended.serial, ended.shard, ended.client, ended.lane, ended.upstream, ended.accepted_at, \
    ended.state, ended.ended_at, ended.attempts, ended.in_doubt, ended.bytes, ended.reason, \
    ended.attempt_number, ended.attempt_started_at, ended.attempt_duration_ms, \
    ended.attempt_outcome, ended.attempt_status, ended.attempt_error, ended.ending
    """
  static let columnCount = 19

  /// How a place in the line has ended.
  init(
    _ line: WaitingRow, _ state: EnvelopeState, at time: WallTime, reason: String?, isInDoubt: Bool,
    attempt: AttemptRecord?, ending: EndingNumber?
  ) {
    let entry = line.entry
    (serial, shard, client, lane) = (entry.serial, line.shard, entry.client, entry.lane)
    (upstream, acceptedAt) = (entry.upstream, entry.acceptedAt)
    (self.state, endedAt, self.reason) = (state, time, reason)
    (attempts, self.isInDoubt, bytes) = (line.attempts, isInDoubt, line.bytes)
    (self.attempt, self.ending) = (attempt, ending)
  }

  /// Reads ``columns``, which begin at this place.
  init(_ rows: PostgresRows, _ row: Int, from first: Int = 0) throws(StoreError) {
    serial = rows.int64(row, first)
    shard = rows.int32(row, first + 1)
    client = ClientNumber(rawValue: rows.int64(row, first + 2))
    lane = LaneNumber(rawValue: rows.int64(row, first + 3))
    upstream = UpstreamNumber(rawValue: rows.int32(row, first + 4))
    acceptedAt = WallTime(millisecondsSinceEpoch: rows.int64(row, first + 5))
    state = try EnvelopeState(stored: rows.int16(row, first + 6))
    endedAt = WallTime(millisecondsSinceEpoch: rows.int64(row, first + 7))
    attempts = rows.int64(row, first + 8)
    isInDoubt = rows.bool(row, first + 9)
    bytes = rows.int64(row, first + 10)
    reason = rows.textOrNil(row, first + 11)
    attempt = rows.isNull(row, first + 12) ? nil : try AttemptRecord(rows, row, from: first + 12)
    ending = rows.int64OrNil(row, first + 18)
  }

  /// The place that it had, as it stands once it has ended.
  func entry(expiresAt: WallTime, onFailure: FailurePolicy) -> LineEntry {
    LineEntry(
      serial: serial, client: client, lane: lane, upstream: upstream, acceptedAt: acceptedAt,
      expiresAt: expiresAt, onFailure: onFailure, attempts: Int32(truncatingIfNeeded: attempts),
      isInDoubt: isInDoubt)
  }

  /// What the rules of changes ask.
  var stored: StoredEnd {
    StoredEnd(
      state: state, attempts: attempts, isInDoubt: isInDoubt, ending: ending, at: endedAt,
      isTried: attempt != nil)
  }

  /// Tells that it is not on record any more as it was.
  func change(_ result: EndChange.Result) -> EndChange {
    EndChange(
      serial: serial, lane: lane, upstream: upstream, state: state, endedAt: endedAt,
      isTried: attempt != nil, result: result)
  }
}

extension AttemptRecord {
  /// Reads number, start, duration, outcome, status and error, which begin at this place.
  init(_ rows: PostgresRows, _ row: Int, from first: Int) throws(StoreError) {
    let code = Int64(rows.int16(row, first + 3))
    guard let outcome = Outcome.of(code: code) else { throw .invalidRow("outcome \(code)") }
    self.init(
      number: Int32(truncatingIfNeeded: rows.int64(row, first)),
      startedAt: WallTime(millisecondsSinceEpoch: rows.int64(row, first + 1)),
      durationMs: rows.int64(row, first + 2), outcome: outcome,
      status: rows.int32OrNil(row, first + 4).map { Int($0) }, error: rows.textOrNil(row, first + 5)
    )
  }
}

extension Standing {
  init(stored code: Int16) throws(StoreError) {
    guard let raw = UInt8(exactly: code), let standing = Standing(rawValue: raw) else {
      throw .invalidRow("standing \(code)")
    }
    self = standing
  }
}

extension EnvelopeState {
  init(stored code: Int16?) throws(StoreError) {
    guard let code, let end = Self.end(ofCode: Int64(code)) else {
      throw .invalidRow("state \(code.map { "\($0)" } ?? "none")")
    }
    self = end
  }
}

extension EnvelopeID {
  init(stored bytes: [UInt8]) throws(StoreError) {
    guard let id = EnvelopeID(bytes: bytes) else { throw .invalidRow("an id") }
    self = id
  }
}

extension WallTime {
  init?(stored milliseconds: Int64?) {
    guard let milliseconds else { return nil }
    self.init(millisecondsSinceEpoch: milliseconds)
  }
}
#endif
