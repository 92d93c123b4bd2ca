import Foundation
import RelayCore

/// What a relay has told others up to a moment, and must hold to after a power cut.
struct PowerCutFacts {
  /// Acknowledged envelopes, by their ids.
  var accepted: Set<String> = []
  /// Ends that were shown to somebody: states by ids.
  var ended: [String: String] = [:]
  /// Envelopes whose correction was acknowledged.
  var corrected: Set<String> = []
  /// The last version that was acknowledged of what is posted again and again.
  var version = 0
  /// The last one that was attempted of each line, by its client.
  var attempted: [String: Int] = [:]
  /// The paths that were attempted.
  var attemptedPaths: Set<String> = []
  /// How many pauses were acknowledged, and how many resumptions.
  var pauseCount = 0
  var resumeCount = 0
  /// Whether it was acknowledged that a client's backlog is forgotten.
  var isCleared = false
  /// Up to where listeners were told of events.
  var toldThrough = EventPosition.beginning
  /// The offsets that were announced of uploads, by where these are found.
  var uploads: [String: Int] = [:]
  private var lastUpload = ""
  /// How many processes have begun.
  var startCount = 0
  /// How many answers were given.
  var answerCount = 0

  /// Takes note of the next event.
  mutating func take(_ event: DiskEvent) {
    if event.kind == .start { startCount += 1 }
    guard event.kind == .send else { return }
    let text = event.text
    if text.hasPrefix("HTTP/1.1 ") {
      takeAnswer(text)
    } else if let path = Self.path(ofRequest: text) {
      takeAttempt(path)
    }
    if text.contains("id: ") { takeEvents(text) }
  }

  /// The path of a request to the upstream; nil for anything else.
  private static func path(ofRequest text: String) -> String? {
    let line = text.prefix { $0 != "\r" && $0 != "\n" && $0 != "\r\n" }
    let parts = line.split(separator: " ")
    return parts.count == 3 && parts[2] == "HTTP/1.1" ? String(parts[1]) : nil
  }

  private mutating func takeAttempt(_ path: String) {
    attemptedPaths.insert(path)
    guard let place = PowerCutPost.place(ofPath: path) else { return }
    attempted[place.client] = max(attempted[place.client] ?? 0, place.index)
  }

  private mutating func takeEvents(_ text: String) {
    for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("id: ") {
      guard let id = EventID(parsing: line.dropFirst(4)) else { continue }
      toldThrough = max(toldThrough, id.position)
    }
  }

  private mutating func takeAnswer(_ text: String) {
    answerCount += 1
    takeRelayed(text)
    guard let end = text.range(of: "\r\n\r\n"),
      let json = try? JSONSerialization.jsonObject(with: Data(text[end.upperBound...].utf8))
    else { return }
    take(json: json)
  }

  /// The answer to a relayed request says in its fields what became of it.
  private mutating func takeRelayed(_ text: String) {
    var fields: [Substring: Substring] = [:]
    for line in text.prefix(2000).split(whereSeparator: \.isNewline) {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[line[..<colon]] = line[colon...].dropFirst(2)
    }
    if let location = fields["Location"], location.hasPrefix("/v1/uploads/") {
      lastUpload = String(location)
    }
    if let offset = fields["Upload-Offset"].flatMap({ Int($0) }) {
      uploads[lastUpload] = max(uploads[lastUpload] ?? 0, offset)
    }
    guard let id = fields["Waystation-Id"] else { return }
    accepted.insert(String(id))
    if let state = fields["Waystation-State"] { note(id: String(id), state: String(state)) }
  }

  private mutating func note(id: String, state: String) {
    if ["delivered", "failed", "expired", "cancelled"].contains(state) { ended[id] = state }
  }

  private mutating func take(json: Any) {
    if let array = json as? [Any] {
      for value in array { take(json: value) }
      return
    }
    guard let object = json as? [String: Any] else { return }
    if let isPaused = object["paused"] as? Bool, Set(object.keys).isSubset(of: ["paused", "known"])
    {
      if isPaused { pauseCount += 1 } else { resumeCount += 1 }
    }
    if object["cancelled"] is Int, object.count == 1 { isCleared = true }
    if let id = object["id"] as? String { take(envelope: object, id: id) }
    for case let value in object.values where value is [Any] { take(json: value) }
  }

  private mutating func take(envelope: [String: Any], id: String) {
    if let result = envelope["result"] as? String, result != "rejected" {
      accepted.insert(id)
      let place = (envelope["key"] as? String).flatMap { PowerCutPost.version(ofKey: $0) }
      version = max(version, place ?? 0)
    }
    if let state = envelope["state"] as? String { note(id: id, state: state) }
    if let path = envelope["path"] as? String, path.hasSuffix(PowerCutPost.correction) {
      corrected.insert(id)
    }
  }
}

/// What the workload of the power cuts posts: key, path and body say each other.
enum PowerCutPost {
  /// What a correction puts behind a path.
  static let correction = "-corrected"
  /// The client whose posts take each other's place.
  static let versions = "versions"

  /// The client that sends its bodies in parts.
  static let uploads = "uploads"

  static func key(_ client: String, _ index: Int) -> String { "\(client):\(index)" }

  /// A path that stands in a line of its client: `/client/index`, and a word behind that.
  static func path(_ client: String, _ index: Int, _ word: String = "") -> String {
    word.isEmpty ? "/\(client)/\(index)" : "/\(client)/\(index)/\(word)"
  }

  static func place(ofPath path: String) -> (client: String, index: Int)? {
    let parts = path.split(separator: "/")
    guard parts.count >= 2, let index = Int(parts[1]) else { return nil }
    return (String(parts[0]), index)
  }

  static func version(ofKey key: String) -> Int? {
    key.hasPrefix(versions + ":") ? Int(key.dropFirst(versions.count + 1)) : nil
  }

  /// The body of the post with this key: every ninth is too large for the database.
  static func body(ofKey key: String) -> [UInt8] {
    let index = Int(key.split(separator: ":").last ?? "0") ?? 0
    let count = index % 9 == 4 ? 9000 : 40 + index * 37 % 900
    let word = Array("\(key) ".utf8)
    return Array((0...count / word.count).map { _ in word }.joined())
  }
}
