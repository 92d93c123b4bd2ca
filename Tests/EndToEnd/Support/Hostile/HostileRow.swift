/// One hostile conversation, and how it has to end.
struct HostileRow: Sendable, CustomStringConvertible {
  /// What the peer does next.
  enum Step: Sendable {
    /// Sends some bytes.
    case send([UInt8])
    /// Sends bytes one by one until the relay closes, with so much time in between.
    case trickle([UInt8], everyMs: Int)
    /// Reads one answer and holds it against what is expected.
    case answer
    /// Ends its own side, and can still read.
    case halfClose
    /// Goes away with a reset, and looks at nothing any more.
    case reset
  }

  /// One answer, as `docs/protocol.md` has it.
  struct Answer: Sendable, Equatable, CustomStringConvertible {
    let status: Int
    /// The last part of the problem's type; nil where the answer is no problem.
    var problem: String?

    var description: String { "\(status) \(problem ?? "-")" }
  }

  /// What becomes of the connection behind the last answer.
  enum Ending: Sendable {
    /// The relay closes it, as its last answer has said, and sends nothing more.
    case closed
    /// The same, without having said so: the peer has ended its side, or says nothing for too long.
    case endedByPeer
    /// The next request on it is answered, and with its own answer.
    case goesOn
    /// Nobody looks.
    case unwatched
  }

  let name: String
  var steps: [Step]
  var answers: [Answer]
  var ending: Ending
  /// How many envelopes the relay takes of it.
  var taken = 0

  var description: String { name }

  /// The relay answers with a problem, and closes.
  static func refused(
    _ status: Int, _ problem: String, _ name: String, _ bytes: [UInt8]
  ) -> HostileRow {
    HostileRow(
      name: name, steps: [.send(bytes)], answers: [Answer(status: status, problem: problem)],
      ending: .closed)
  }

  /// What is not plainly one request: 400, and a closed connection.
  static func malformed(_ name: String, _ text: String) -> HostileRow {
    refused(400, "malformed-request", name, Wire.bytes(text))
  }

  /// The relay answers, with a problem or without, and the connection goes on.
  static func answered(
    _ status: Int, _ problem: String?, _ name: String, _ bytes: [UInt8]
  ) -> HostileRow {
    HostileRow(
      name: name, steps: [.send(bytes)], answers: [Answer(status: status, problem: problem)],
      ending: .goesOn)
  }

  /// It looks hostile, and is an envelope like any other.
  static func taken(_ name: String, _ bytes: [UInt8], count: Int = 1) -> HostileRow {
    HostileRow(
      name: name, steps: [.send(bytes)], answers: [Answer(status: 202)], ending: .goesOn,
      taken: count)
  }

  /// The relay says nothing, and closes.
  static func silent(_ name: String, _ steps: [Step]) -> HostileRow {
    HostileRow(name: name, steps: steps, answers: [], ending: .closed)
  }
}

/// Requests, byte for byte.
enum Wire {
  /// Text whose characters are bytes: `\u{80}` is the byte 0x80.
  static func bytes(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { scalar in
      precondition(scalar.value < 256, "\(scalar) is no byte")
      return UInt8(scalar.value)
    }
  }

  /// A request line and fields in front of an empty line, with `Host` and a body's length.
  static func request(_ line: String, _ fields: [String] = [], body: [UInt8]? = nil) -> [UInt8] {
    var lines = ["\(line) HTTP/1.1", "Host: relay"] + fields
    if let body { lines.append("Content-Length: \(body.count)") }
    return bytes(lines.joined(separator: "\r\n") + "\r\n\r\n") + (body ?? [])
  }

  /// A post to `/v1/envelopes`.
  static func post(
    _ body: [UInt8], type: String = "application/json", _ fields: [String] = []
  ) -> [UInt8] {
    request("POST /v1/envelopes", ["Content-Type: \(type)"] + fields, body: body)
  }

  /// A relayed request: `taken` is what the upstream may see, anything else is not.
  static func relayed(
    _ path: String = "/taken", _ fields: [String] = [], body: [UInt8]? = nil, method: String = "PUT"
  ) -> [UInt8] {
    request(
      "\(method) /v1/relay/default\(path)", ["Waystation-Client: hostile"] + fields, body: body)
  }

  /// The head of a relayed request whose body comes in the frames that `fields` say.
  static func head(_ fields: String, path: String = "/half", version: String = "1.1") -> String {
    "PUT /v1/relay/default\(path) HTTP/\(version)\r\nHost: relay\r\n"
      + "Waystation-Client: hostile\r\n\(fields)\r\n\r\n"
  }

  /// The request within a request: where any of it reaches the upstream, something was smuggled.
  static let smuggled =
    "PUT /v1/relay/default/smuggled HTTP/1.1\r\nHost: relay\r\nWaystation-Client: thief\r\n"
    + "Content-Length: 0\r\n\r\n"
}
