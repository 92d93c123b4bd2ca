import EventLoop
import HTTPServer
import RelayCore

/// Writes a line for each request into the log, where that is asked for.
///
/// No header is in it, nor anything of a body; of a query only what ``ShownQuery`` shows.
struct AccessLog: ExchangeObserver {
  let log: Log

  var isOn: Bool { log.isAccessOn }

  /// The longest texts that are shown, in bytes: with all of them a line stays under
  /// ``Log/lineBytesMax``, also where each character of a path has to be escaped.
  private enum TextLimits {
    static let method = 32
    static let path = 768
    static let query = 384
    static let requestID = 64
  }

  func ended(_ exchange: Exchange) {
    var fields: [Log.Field] = []
    if let head = exchange.head { Self.add(head, to: &fields) }
    if let status = exchange.status { fields.append(("status", .integer(Int64(status)))) }
    if let problem = exchange.problem {
      fields.append(("problem", .text(ProtocolProblem(problem, "").name)))
    }
    if let end = exchange.end { fields.append(("end", end)) }
    fields.append(("bytesIn", .integer(exchange.receivedBytes)))
    fields.append(("bytesOut", .integer(exchange.sentBytes)))
    if let duration = exchange.durationUs { fields.append(("durationUs", .integer(duration))) }
    let content = (exchange.note as? AccessNote)?.content
    let peer = exchange.origin.peer.description
    fields.append(("peer", .text(content?.sender ?? peer)))
    if content?.sender != nil { fields.append(("passedOnBy", .text(peer))) }
    if let version = exchange.tlsVersion { fields.append(("tls", .text(version))) }
    if let content { Self.add(content, to: &fields) }
    log.access(fields)
  }

  private static func add(_ head: RequestHead, to fields: inout [Log.Field]) {
    fields.append(("method", .text(short(head.method.description.utf8, TextLimits.method))))
    fields.append(("path", .text(short(head.path, TextLimits.path))))
    if let query = head.query {
      let shown = ShownQuery.text(query, isRelayed: isRelayed(head.path))
      fields.append(("query", .text(short(shown.utf8, TextLimits.query))))
    }
    fields.append(("protocol", head.version == .http11 ? "HTTP/1.1" : "HTTP/1.0"))
    if let id = head.value(of: "X-Request-Id") {
      fields.append(("requestId", .text(short(id, TextLimits.requestID))))
    }
  }

  private static func add(_ content: AccessNote.Content, to fields: inout [Log.Field]) {
    if let name = content.client ?? content.credential {
      fields.append(("who", .text(name)))
      if let credential = content.credential, credential != name {
        fields.append(("credential", .text(credential)))
      }
    }
    guard let first = content.ids.first else { return }
    guard content.idCount > 1 else {
      return fields.append(("envelope", .text(first.description)))
    }
    let shown = content.ids.map(\.description).joined(separator: " ")
    fields.append(("envelopes", .text(shown)))
    fields.append(("envelopeCount", .integer(Int64(content.idCount))))
  }

  private static func isRelayed(_ path: ArraySlice<UInt8>) -> Bool {
    path.starts(with: "/v1/relay/".utf8)
  }

  /// A text that is cut off where it is too long.
  private static func short(_ text: some Collection<UInt8>, _ bytesMax: Int) -> String {
    guard text.count > bytesMax else { return String(decoding: text, as: UTF8.self) }
    return String(decoding: text.prefix(bytesMax), as: UTF8.self) + "…"
  }
}

extension Exchange {
  /// The reason for its end, if there was no whole answer.
  fileprivate var end: Log.Value? {
    if status == nil { return "the peer left before it was answered" }
    return isWhole ? nil : "the answer was cut off"
  }
}
