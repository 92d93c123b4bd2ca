import JSON
import RelayCore

/// A problem document (RFC 9457), as the relay writes it.
struct RelayProblem: Sendable {
  /// The last part of its type, such as `key-conflict`.
  let name: String
  /// The status that it stands for.
  let status: Int
  /// What is wrong, and what to do.
  let words: String
  /// The most characters of it that are kept with an item: a relay's own are far shorter.
  private static let wordsMax = 2000
  private static let nameMax = 100
  /// For how long to stay away, in milliseconds; nil if it does not say.
  let retryAfterMs: Int64?
  /// The number up to which the relay waits for nothing; nil if it does not say.
  let lastSequence: UInt64?
  /// The JSON pointer of what is wrong; nil if it names none.
  private let field: String?

  /// Reads a document that is part of another one.
  init(_ value: JSONValue) throws(JSONError) {
    let object = try value.object()
    let type = try object["type"]?.string() ?? ""
    let last = type.split(whereSeparator: { $0 == ":" || $0 == "#" }).last ?? "unknown"
    name = String(last.prefix(Self.nameMax))
    status = Int(clamping: try object["status"]?.int64() ?? 0)
    let title = try object["title"]?.string()
    let detail = try object["detail"]?.string() ?? title ?? name
    let fix = try object["fix"]?.string()
    words = String((fix.map { "\(detail) \($0)" } ?? detail).prefix(Self.wordsMax))
    field = try object["field"]?.string()
    lastSequence = try object["lastSequence"].map { value throws(JSONError) in
      try SyncAnswer.number(value)
    }
    retryAfterMs = try object["retryAfterSeconds"].map { value throws(JSONError) in
      try SyncAnswer.milliseconds(ofSeconds: value)
    }
  }

  /// Reads the body of a whole answer; nil if it is none.
  init?(_ response: Response) {
    guard response.header("content-type")?.hasPrefix("application/problem+json") == true,
      let value = try? JSONValue.parse(response.body), let problem = try? RelayProblem(value)
    else { return nil }
    self = problem
  }

  /// What is recorded with an item.
  var error: RecordedError { RecordedError(id: name, message: words) }

  /// Whether the relay does not take the number, and may take the item under another one.
  var isAboutNumber: Bool { name == "sequence-passed" || name == "sequence-conflict" }

  /// Whether it is about the question of a check-in, and about no item.
  var isAboutQuestion: Bool {
    ["/since", "/lanes", "/responses"].contains { field?.hasPrefix($0) == true }
  }

  /// Whether the same post may be taken later.
  var mayPass: Bool {
    status == 408 || status == 429 || status >= 500 || name == "unauthenticated"
      || name == "forbidden"
  }
}

extension Response {
  /// For how long the sender asks to be left alone, in milliseconds: `Retry-After` in seconds
  /// (RFC 9110 section 10.2.3); nil if it does not say, or names a time of day.
  var retryAfterMs: Int64? {
    guard let text = header("retry-after"), let seconds = Int64(text), seconds >= 0 else {
      return nil
    }
    return min(seconds, 1 << 40) * 1000
  }
}
