import JSON
import RelayCore

/// The messages to and from a collector: `ExportTraceServiceRequest` and its response in the JSON
/// encoding of OTLP 1.x.
///
/// The encoding is proto3's JSON with two differences: ids are hexadecimal digits, and enumerations
/// are numbers. Whole numbers of 64 bits are texts.
package struct OTLPDocument: Sendable {
  /// The relay's service name.
  private let serviceName: String

  /// Documents of a relay that is called so.
  package init(serviceName: String) { self.serviceName = serviceName }

  /// The request that exports these spans.
  package func request(_ spans: [TraceSpan]) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.memberArray("resourceSpans") { json in
        json.object { json in
          json.memberObject("resource") { $0.memberArray("attributes", writeResource) }
          json.memberArray("scopeSpans") { Self.writeScope(of: spans, to: &$0) }
        }
      }
    }
    return json.finish()
  }

  private func writeResource(to json: inout JSONWriter) {
    let version = ReleaseVersion.number
    Self.write(TraceSpan.Attribute("service.name", .text(serviceName)), to: &json)
    Self.write(TraceSpan.Attribute("service.version", .text(version)), to: &json)
  }

  private static func writeScope(of spans: [TraceSpan], to json: inout JSONWriter) {
    json.object { json in
      json.memberObject("scope") { json in
        json.member("name", "waystation")
        json.member("version", ReleaseVersion.number)
      }
      json.memberArray("spans") { json in
        for span in spans { write(span, to: &json) }
      }
    }
  }

  /// The number of spans that an answer of 2xx reports as not taken; 0 if it reports none.
  package static func rejectedCount(in answer: [UInt8]) -> Int {
    guard let count = try? JSONValue.parse(answer)["partialSuccess"]?["rejectedSpans"] else {
      return 0
    }
    if let number = try? count.int64() { return Int(clamping: number) }
    return (try? count.string()).flatMap { Int($0) } ?? 0
  }

  private static func write(_ span: TraceSpan, to json: inout JSONWriter) {
    json.object { json in
      json.member("traceId", span.context.trace.description)
      json.member("spanId", span.id.description)
      if !span.isRoot { json.member("parentSpanId", span.context.parent.description) }
      if let state = span.traceState { json.member("traceState", state) }
      json.member("flags", flags(of: span))
      json.member("name", span.name)
      json.member("kind", span.kind.rawValue)
      json.member("startTimeUnixNano", nanoseconds(span.startedAt))
      json.member("endTimeUnixNano", nanoseconds(span.endedAt))
      json.memberArray("attributes") { json in
        for attribute in span.attributes { write(attribute, to: &json) }
      }
      if let failure = span.failure {
        json.memberObject("status") { json in
          json.member("code", Self.errorCode)
          if !failure.isEmpty { json.member("message", failure) }
        }
      }
    }
  }

  /// `STATUS_CODE_ERROR`.
  private static let errorCode = 2
  /// Whether it is said at all if the parent is another process's, and whether it is.
  private static let knowsRemoteFlag = 0x100
  private static let isRemoteFlag = 0x200

  private static func flags(of span: TraceSpan) -> Int {
    Int(span.context.flags) | knowsRemoteFlag | (span.isParentRemote ? isRemoteFlag : 0)
  }

  private static func nanoseconds(_ time: WallTime) -> String {
    "\(max(0, time.millisecondsSinceEpoch))000000"
  }

  private static func write(_ attribute: TraceSpan.Attribute, to json: inout JSONWriter) {
    json.object { json in
      json.member("key", attribute.name)
      json.memberObject("value") { json in
        switch attribute.value {
        case .text(let text): json.member("stringValue", text)
        case .integer(let number): json.member("intValue", "\(number)")
        case .flag(let flag): json.member("boolValue", flag)
        }
      }
    }
  }
}
