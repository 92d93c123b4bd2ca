import HTTPServer
import JSON
import RelayCore
import RelayServer
import Testing

/// What tests of acceptance share: rules with two upstreams, and a time that it is.
enum Fixture {
  static let now = WallTime(millisecondsSinceEpoch: 1_772_366_400_000)
  static let day: Int64 = 86_400_000

  static func configuration(
    _ upstreams: [String] = ["default", "billing"],
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> Configuration {
    var flags = ConfigurationFlags()
    flags.upstreams = upstreams.map { "\($0)=https://\($0).example.com" }
    var configuration = try Configuration.load(flags: flags).get()
    change(&configuration)
    return configuration
  }

  static func decode(
    _ json: String, _ configuration: Configuration? = nil
  ) throws -> EnvelopeDraft {
    let rules = AcceptanceRules(try configuration ?? self.configuration())
    return try EnvelopeDecoder(rules).decode(Array(json.utf8), at: ArrivalTime(now))
  }

  /// The problem that a text is refused with; nil if it is taken.
  static func problem(_ json: String, _ configuration: Configuration? = nil) throws -> Problem? {
    do {
      _ = try decode(json, configuration)
      return nil
    } catch let problem as Problem {
      return problem
    }
  }

  /// A request on the relay route, decoded as the endpoint does it.
  static func relay(
    _ target: String, _ fields: [String], method: String = "POST", client: String? = "truck-7"
  ) throws -> RelayRequestDecoder.Decoded {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: relay"] + fields
    if let client { lines.append("Waystation-Client: \(client)") }
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
    let request = try #require(HTTPRequest(parsing: Array(text.utf8)))
    var router = Router<Int>()
    router.addAny("/v1/relay/{upstream}/{path…}", 1)
    router.addAny("/v1/relay/{upstream}", 2)
    guard
      case .found(_, let captures) = router.match(
        request.head.method, path: request.head.path)
    else { throw Problem.notFound() }
    return try RelayRequestDecoder(AcceptanceRules(try configuration())).decode(
      request.head, upstream: captures.raw("upstream") ?? [], rest: captures.raw("path") ?? [],
      at: ArrivalTime(now))
  }
}

/// The header fields of an envelope, as text.
func text(_ headers: RelayCore.HeaderBlock) -> String {
  String(decoding: headers.bytes, as: UTF8.self)
}

/// The bytes of a body in memory, as text.
func text(_ body: EnvelopeBody) -> String? {
  guard case .inline(let bytes) = body else { return nil }
  return String(decoding: bytes, as: UTF8.self)
}
