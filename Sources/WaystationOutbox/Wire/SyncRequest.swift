import JSON
import RelayCore

/// What a device writes to `POST /v1/sync`: the question of a check-in, and then its items, each on
/// a line of its own.
enum SyncRequest {
  /// One item with all that its line needs.
  struct Entry {
    let item: KeptItem
    let request: KeptRequest
    let body: [UInt8]
    /// The lane's name at the relay.
    let lane: String
    let onRefusal: OnRefusal
    /// How long ago it was enqueued, in milliseconds; nil if nobody knows.
    let ageMs: Int64?
    /// The device's signature; nil for none.
    var signature: HeaderLine?
  }

  /// What the device has of a lane.
  struct LaneQuestion: Equatable {
    let name: String
    let first: UInt64
    let last: UInt64
  }

  /// The first line.
  static func question(
    client: String, lanes: [LaneQuestion], since: String?, responseBytes: Int
  ) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("client", client)
      if !lanes.isEmpty {
        json.memberArray("lanes") { json in
          for lane in lanes {
            json.object { json in
              json.member("lane", lane.name)
              json.member("first", lane.first)
              json.member("last", lane.last)
            }
          }
        }
      }
      if let since { json.member("since", since) }
      if responseBytes > 0 {
        json.memberObject("responses") { $0.member("bytesMax", min(responseBytes, 65_536)) }
      }
    }
    return json.finish()
  }

  /// The line of an item, appended with its line break.
  static func append(_ entry: Entry, client: String, to bytes: inout [UInt8]) {
    let item = entry.item
    var json = JSONWriter(reserving: 512 + entry.body.count)
    json.object { json in
      json.member("client", client)
      json.member("key", item.key)
      json.member("lane", entry.lane)
      if let sequence = item.sequence { json.member("sequence", sequence) }
      if let tag = item.tag { json.member("tag", tag) }
      if let upstream = entry.request.upstream { json.member("upstream", upstream) }
      json.member("method", entry.request.method)
      json.member("path", entry.request.path)
      json.memberObject("headers") { json in
        json.member("Idempotency-Key", item.key)
        if let signature = entry.signature { json.member(signature.name, signature.value) }
        write(entry.request.headers.filter { !$0.isTaken(with: entry.signature) }, to: &json)
      }
      writeBody(entry.body, to: &json)
      json.member("onFailure", entry.onRefusal == .block ? "block" : "skip")
      if let age = entry.ageMs, age >= 1000 { json.member("age", age / 1000) }
      if let expires = item.expiresMs { json.member("expiresIn", max(1, expires / 1000)) }
    }
    bytes += json.finish()
    bytes.append(UInt8(ascii: "\n"))
  }

  /// The line that says that a number will never come.
  static func append(void number: UInt64, lane: String, client: String, to bytes: inout [UInt8]) {
    var json = JSONWriter(reserving: 256)
    json.object { json in
      json.member("client", client)
      json.member("lane", lane)
      json.member("sequence", number)
      json.member("void", true)
    }
    bytes += json.finish()
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Text goes as text, which is shorter; any other bytes as Base64.
  static func writeBody(_ body: [UInt8], to json: inout JSONWriter) {
    guard !body.isEmpty else { return }
    if isText(body) {
      json.name("body")
      json.string(utf8: body)
    } else {
      json.member("bodyBase64", Base64.text(of: body))
    }
  }

  /// Whether a body goes as text.
  static func isText(_ body: [UInt8]) -> Bool { String(validating: body, as: UTF8.self) != nil }

  /// Writes fields as members of an object.
  static func write(_ headers: [HeaderLine], to json: inout JSONWriter) {
    for (name, values) in grouped(headers) {
      if values.count == 1 {
        json.member(name, values[0])
      } else {
        json.memberArray(name) { json in for value in values { json.string(value) } }
      }
    }
  }

  /// Fields of one name together: a name comes once in an object.
  private static func grouped(_ headers: [HeaderLine]) -> [(String, [String])] {
    var groups: [(String, [String])] = []
    for line in headers {
      let name = line.name.lowercased()
      if let place = groups.firstIndex(where: { $0.0.lowercased() == name }) {
        groups[place].1.append(line.value)
      } else {
        groups.append((line.name, [line.value]))
      }
    }
    return groups
  }
}

extension HeaderLine {
  /// Whether the outbox writes the field itself: the key, and the signature if there is one.
  func isTaken(with signature: HeaderLine?) -> Bool {
    isNamed("idempotency-key") || signature.map { isNamed($0.name.lowercased()) } ?? false
  }
}
