import JSON
import RelayCore

/// The relay's answer to a check-in or a sync, as far as a device needs it.
///
/// What is there and cannot be read makes the whole answer no answer: a sign-in page of a network
/// also says 200.
struct SyncAnswer: Sendable {
  /// What became of one item of the post.
  enum Result: Sendable {
    /// The relay has it, under this id; with the state that a duplicate is in.
    case taken(id: String?, state: String?)
    /// The relay waits for it no more.
    case void
    /// It was refused.
    case rejected(RelayProblem)
  }

  /// An item that has ended at the relay.
  struct Ended: Sendable {
    let key: String?
    let lane: String
    let sequence: UInt64?
    let state: String
    let reason: String?
    let attempts: Int
    let status: Int?
    let response: Response?

    /// What is recorded with it if the upstream has refused it.
    var error: RecordedError {
      response.map { .upstream($0, reason: reason) } ?? .upstream(status: status, words: reason)
    }
  }

  /// An item behind which a lane stands.
  struct Blocker: Sendable {
    let key: String?
    let sequence: UInt64?
    let error: RecordedError
    let status: Int?
  }

  /// A lane as the relay has it.
  struct LaneAnswer: Sendable {
    let name: String
    let lastSequence: UInt64?
    let highestSequence: UInt64?
    /// What the relay has not of the numbers that it was told of.
    let send: [ClosedRange<UInt64>]?
    let missing: [ClosedRange<UInt64>]
    let skipped: [ClosedRange<UInt64>]
    let blocker: Blocker?
  }

  var results: [Result] = []
  var lanes: [LaneAnswer] = []
  var ended: [Ended] = []
  var hasMore = false
  var since: String?
  var retryAfterMs: Int64?
  var itemsPerBatch: Int?
  var bytesPerBatch: Int?
  var timeMs: Int64?
  var features: Set<String> = []
  var receipts: [ToldReceipt] = []

  /// Reads the body of a 200; nil if a relay has not written it.
  init?(_ body: [UInt8]) {
    guard let value = try? JSONValue.parse(body), let object = try? value.object() else {
      return nil
    }
    do throws(JSONError) {
      var isRelay = false
      for member in object {
        if member.name.equals("maySend") { isRelay = true }
        try read(member)
      }
      guard isRelay else { return nil }
    } catch {
      return nil
    }
  }

  private mutating func read(_ member: JSONMember) throws(JSONError) {
    let value = member.value
    switch member.name.string {
    case "results":
      results = try Self.list(value) { entry throws(JSONError) in try Self.result(entry) }
    case "lanes": lanes = try Self.list(value) { entry throws(JSONError) in try Self.lane(entry) }
    case "ended": ended = try Self.list(value) { entry throws(JSONError) in try Self.ending(entry) }
    case "receipts":
      // One that cannot be read is no reason to post everything again.
      receipts = ((try? value.array()).map(Array.init) ?? []).compactMap { ToldReceipt($0) }
    case "more": hasMore = try value.bool()
    case "since": since = try value.string()
    case "time": timeMs = RFC3339.parse(try value.utf8())?.millisecondsSinceEpoch
    case "retryAfterSeconds": retryAfterMs = try Self.milliseconds(ofSeconds: value)
    case "maySend": try readAllowance(value)
    case "relay":
      let names = try value.object()["features"].map { list throws(JSONError) in
        try Self.list(list) { entry throws(JSONError) in try entry.string() }
      }
      features = Set(names ?? [])
    default: break
    }
  }

  private mutating func readAllowance(_ value: JSONValue) throws(JSONError) {
    for member in try value.object() {
      switch member.name.string {
      case "envelopesPerBatch": itemsPerBatch = Int(clamping: try member.value.int64())
      case "bytesPerBatch": bytesPerBatch = Int(clamping: try member.value.int64())
      default: break
      }
    }
  }

  static func milliseconds(ofSeconds value: JSONValue) throws(JSONError) -> Int64 {
    min(max(0, try value.int64()), 1 << 40) * 1000
  }

  private static func list<Entry>(
    _ value: JSONValue, _ read: (JSONValue) throws(JSONError) -> Entry
  ) throws(JSONError) -> [Entry] {
    var entries: [Entry] = []
    for element in try value.array() { entries.append(try read(element)) }
    return entries
  }

  private static func result(_ value: JSONValue) throws(JSONError) -> Result {
    let object = try value.object()
    guard let word = try object["result"]?.string() else {
      throw value.error(.wrongType, "no result")
    }
    switch word {
    case "rejected":
      guard let problem = object["problem"] else { throw value.error(.wrongType, "no problem") }
      return .rejected(try RelayProblem(problem))
    case "void": return .void
    case "accepted": return .taken(id: try object["id"]?.string(), state: nil)
    case "duplicate", "coalesced":
      return .taken(id: try object["id"]?.string(), state: try object["state"]?.string())
    default: throw value.error(.wrongType, "a result that is not known")
    }
  }

  private static func lane(_ value: JSONValue) throws(JSONError) -> LaneAnswer {
    let object = try value.object()
    return LaneAnswer(
      name: try object["lane"]?.string() ?? "",
      lastSequence: try object["lastSequence"].map(number),
      highestSequence: try object["highestSequence"].map(number),
      send: try object["send"].map(ranges), missing: try object["missing"].map(ranges) ?? [],
      skipped: try object["skipped"].map(ranges) ?? [],
      blocker: try object["blockedBy"].map(blocker))
  }

  private static func blocker(_ value: JSONValue) throws(JSONError) -> Blocker {
    let object = try value.object()
    let status = try object["responseStatus"].map(int)
    let id = try object["errorId"]?.string()
    let message = try object["errorMessage"]?.string()
    let reason = try object["reason"]?.string()
    return Blocker(
      key: try object["key"]?.string(), sequence: try object["sequence"].map(number),
      error: .upstream(id: id, status: status, words: message ?? reason), status: status)
  }

  /// The greatest number of a lane: what JSON's numbers can tell apart (openapi.yaml).
  static let sequenceMax: Int64 = 9_007_199_254_740_991

  static func number(_ value: JSONValue) throws(JSONError) -> UInt64 {
    UInt64(min(max(0, try value.int64()), sequenceMax))
  }

  private static func int(_ value: JSONValue) throws(JSONError) -> Int {
    Int(clamping: try value.int64())
  }

  private static func ranges(_ value: JSONValue) throws(JSONError) -> [ClosedRange<UInt64>] {
    try list(value) { entry throws(JSONError) in
      let object = try entry.object()
      let first = try object["first"].map(number) ?? 0
      return first...max(first, try object["last"].map(number) ?? first)
    }
  }

  private static func ending(_ value: JSONValue) throws(JSONError) -> Ended {
    let object = try value.object()
    let status = try object["responseStatus"].map(int)
    var response = status.map { Response(status: $0, headers: [], body: [], isCut: true) }
    if let kept = object["response"], let status { response = try self.response(kept, status) }
    return Ended(
      key: try object["key"]?.string(), lane: try object["lane"]?.string() ?? "",
      sequence: try object["sequence"].map(number), state: try object["state"]?.string() ?? "",
      reason: try object["reason"]?.string(),
      attempts: try object["attemptCount"].map(int) ?? 0,
      status: status, response: response)
  }

  private static func response(_ value: JSONValue, _ status: Int) throws(JSONError) -> Response {
    var headers: [(String, String)] = []
    var body: [UInt8] = []
    for member in try value.object() {
      switch member.name.string {
      case "headers":
        for field in try member.value.object() {
          if field.value.kind == .array {
            for element in try field.value.array() {
              headers.append((field.name.string, try element.string()))
            }
          } else {
            headers.append((field.name.string, try field.value.string()))
          }
        }
      case "body": body = try member.value.utf8()
      case "bodyBase64":
        body = (try? Base64.decode(Array(try member.value.string().utf8))) ?? []
      default: break
      }
    }
    return Response(status: status, headers: headers, body: body)
  }
}
