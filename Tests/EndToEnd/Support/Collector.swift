import Foundation

/// A collector within the test: it takes what OTLP/HTTP has in JSON, and holds it to its shape.
final class Collector: Sendable {
  /// A span that has arrived.
  struct Span: Sendable {
    var trace: String
    var id: String
    var parent: String?
    var name: String
    var kind: Int
    var startMs: Int
    var endMs: Int
    /// Whole numbers as their digits, and flags as `true` or `false`.
    var attributes: [String: String]
    var isError: Bool
    var message: String?
    var traceState: String?
  }

  let upstream: TestUpstream
  /// What it answers where it takes all.
  static let success = Behaviour.answer(
    200, fields: [WireField(name: "Content-Type", value: "application/json")],
    body: Array(#"{"partialSuccess":{}}"#.utf8))

  init() throws { upstream = try TestUpstream { _ in Self.success } }

  /// The tracing section of a relay that exports here, quickly.
  func tracing(_ more: [String: any Sendable] = [:]) -> [String: any Sendable] {
    let section: [String: any Sendable] = [
      "endpoint": upstream.url + "/v1/traces", "batchDelayMs": 20,
    ]
    return ["tracing": section.merging(more) { _, given in given }]
  }

  /// The spans that have arrived, each once, in their order.
  func spans() throws -> [Span] {
    var known: Set<String> = []
    return try upstream.received.flatMap(Self.spans).filter {
      known.insert($0.trace + $0.id).inserted
    }
  }

  /// Waits until so many spans have arrived of a trace.
  func spans(of trace: String, count: Int) async throws -> [Span] {
    try await eventually("\(count) spans of \(trace) among \(try spans().map(\.name))") {
      let found = try spans().filter { $0.trace == trace }
      return found.count >= count ? found : nil
    }
  }

  // MARK: - The shape

  private static func spans(_ request: WireRequest) throws -> [Span] {
    guard request.method == "POST", request.target == "/v1/traces",
      request["Content-Type"] == "application/json"
    else { throw ProtocolViolation(description: "\(request.message.startLine)") }
    for name in ["Via", "Idempotency-Key", "Waystation-Attempt", "Waystation-Client"]
    where request[name] != nil {
      throw ProtocolViolation(description: "a collector was sent \(name)")
    }
    let document = try request.message.json()
    return try list(document, "resourceSpans").flatMap { resource in
      guard let named = resource["resource"] as? [String: Any],
        try attributes(named)["service.name"] != nil
      else { throw ProtocolViolation(description: "no service.name: \(resource)") }
      return try list(resource, "scopeSpans").flatMap { try list($0, "spans").map(span) }
    }
  }

  private static func span(_ json: [String: Any]) throws -> Span {
    let names: Set = [
      "traceId", "spanId", "parentSpanId", "traceState", "flags", "name", "kind",
      "startTimeUnixNano", "endTimeUnixNano", "attributes", "status",
    ]
    guard Set(json.keys).isSubset(of: names), let name = json["name"] as? String, !name.isEmpty,
      let kind = json["kind"] as? Int, (1...5).contains(kind)
    else { throw ProtocolViolation(description: "no span: \(json)") }
    let status = json["status"] as? [String: Any]
    guard status == nil || status?["code"] as? Int == 2 else {
      throw ProtocolViolation(description: "no status: \(json)")
    }
    let parent = json["parentSpanId"] == nil ? nil : try id(json, "parentSpanId", 16)
    let span = Span(
      trace: try id(json, "traceId", 32), id: try id(json, "spanId", 16), parent: parent,
      name: name, kind: kind, startMs: try milliseconds(json, "startTimeUnixNano"),
      endMs: try milliseconds(json, "endTimeUnixNano"), attributes: try attributes(json),
      isError: status != nil, message: status?["message"] as? String,
      traceState: json["traceState"] as? String)
    guard span.startMs <= span.endMs else {
      throw ProtocolViolation(description: "it ends before it begins: \(json)")
    }
    return span
  }

  private static func list(_ json: [String: Any], _ name: String) throws -> [[String: Any]] {
    guard let list = json[name] as? [[String: Any]], !list.isEmpty else {
      throw ProtocolViolation(description: "no \(name): \(json)")
    }
    return list
  }

  private static func id(_ json: [String: Any], _ name: String, _ digits: Int) throws -> String {
    let text = json[name] as? String ?? ""
    guard text.utf8.count == digits, text.contains(where: { $0 != "0" }),
      text.allSatisfy({ "0123456789abcdef".contains($0) })
    else { throw ProtocolViolation(description: "\(name) is \(text)") }
    return text
  }

  private static func milliseconds(_ json: [String: Any], _ name: String) throws -> Int {
    guard let text = json[name] as? String, text.hasSuffix("000000"),
      let number = Int(text.dropLast(6)), number > 1_600_000_000_000
    else { throw ProtocolViolation(description: "\(name) is \(json[name] ?? "missing")") }
    return number
  }

  private static func attributes(_ json: [String: Any]) throws -> [String: String] {
    var found: [String: String] = [:]
    for attribute in try list(json, "attributes") {
      guard let key = attribute["key"] as? String, found[key] == nil,
        let value = attribute["value"] as? [String: Any], value.count == 1
      else { throw ProtocolViolation(description: "no attribute: \(attribute)") }
      if let text = value["stringValue"] as? String ?? value["intValue"] as? String {
        found[key] = text
      } else if let flag = value["boolValue"] as? Bool {
        found[key] = "\(flag)"
      } else {
        throw ProtocolViolation(description: "no value: \(attribute)")
      }
    }
    return found
  }
}
