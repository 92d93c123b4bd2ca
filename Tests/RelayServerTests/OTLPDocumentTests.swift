import Foundation
import RelayCore
import RelayServer
import Testing

@Suite("What goes to a collector")
struct OTLPDocumentTests {
  private func span(isRoot: Bool = false, failure: String? = nil) -> TraceSpan {
    TraceSpan(
      context: TraceContext(
        trace: TraceID(high: 0x0102, low: 0xFFEE), parent: SpanID(rawValue: 0xAB), flags: 1),
      id: SpanID(rawValue: 0xCD), isRoot: isRoot, isParentRemote: !isRoot, traceState: "a=1",
      name: "POST", kind: .client, startedAt: WallTime(millisecondsSinceEpoch: 1_700_000_000_123),
      endedAt: WallTime(millisecondsSinceEpoch: 1_700_000_000_456),
      attributes: [
        .init("text", .text("\"ü\n")), .init("number", .integer(.max)), .init("flag", .flag(true)),
      ], failure: failure)
  }

  private func written(_ spans: [TraceSpan]) throws -> [String: Any] {
    let bytes = OTLPDocument(serviceName: "relay-1").request(spans)
    return try #require(
      JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
  }

  private func spans(_ document: [String: Any]) throws -> [[String: Any]] {
    let resources = try #require(document["resourceSpans"] as? [[String: Any]])
    let scopes = try #require(resources.first?["scopeSpans"] as? [[String: Any]])
    return try #require(scopes.first?["spans"] as? [[String: Any]])
  }

  @Test("ids are hexadecimal digits, times are texts of nanoseconds, and kinds are numbers")
  func shape() throws {
    let document = try written([span(), span(isRoot: true, failure: "it failed")])
    let resource = try #require(document["resourceSpans"] as? [[String: Any]])[0]["resource"]
    let names = try #require((resource as? [String: Any])?["attributes"] as? [[String: Any]])
    #expect(names.map { $0["key"] as? String } == ["service.name", "service.version"])
    #expect((names[0]["value"] as? [String: Any])?["stringValue"] as? String == "relay-1")
    let (first, second) = (try spans(document)[0], try spans(document)[1])
    #expect(first["traceId"] as? String == "0000000000000102000000000000ffee")
    #expect(first["spanId"] as? String == "00000000000000cd")
    #expect(first["parentSpanId"] as? String == "00000000000000ab")
    #expect(first["traceState"] as? String == "a=1" && first["flags"] as? Int == 0x301)
    #expect(first["kind"] as? Int == 3 && first["status"] == nil)
    #expect(first["startTimeUnixNano"] as? String == "1700000000123000000")
    #expect(first["endTimeUnixNano"] as? String == "1700000000456000000")
    #expect(second["parentSpanId"] == nil && second["flags"] as? Int == 0x101)
    let status = try #require(second["status"] as? [String: Any])
    #expect(status["code"] as? Int == 2 && status["message"] as? String == "it failed")
    let values = try #require(first["attributes"] as? [[String: Any]]).map { $0["value"] }
    let expected: NSArray = [
      ["stringValue": "\"ü\n"], ["intValue": "9223372036854775807"], ["boolValue": true],
    ]
    #expect(values as NSArray == expected)
  }

  @Test(
    "an answer says how many spans were not taken, or nothing of it",
    arguments: [
      (#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"x"}}"#, 3),
      (#"{"partialSuccess":{"rejectedSpans":3}}"#, 3), (#"{"partialSuccess":{}}"#, 0), ("{}", 0),
      ("", 0), ("\u{0A}\u{02}\u{08}\u{03}", 0), (#"{"partialSuccess":{"rejectedSpans":[]}}"#, 0),
    ])
  func partialSuccess(answer: String, count: Int) {
    #expect(OTLPDocument.rejectedCount(in: Array(answer.utf8)) == count)
  }
}
