import Compression
import Forwarder
import RelayCore
import WaystationOutbox

/// One request in the form that a conversation takes.
struct CurlRequest: Sendable {
  /// Whom it goes to, and with which certificate: connections are kept for each.
  struct Peer: Hashable, Sendable {
    let origin: UpstreamURL
    let identity: TLSIdentity?
  }

  /// The size from which on a body is worth the work of compressing it, in bytes.
  private static let compressedBytesMin = 1024

  let peer: Peer
  let stop = Conversation.Stop()
  private let method: String
  private let target: String
  private let fields: [String]
  private let body: Conversation.Content
  /// What it is read from; nil if it is no file.
  private let file: FileStretch?
  private let timeoutMs: Int
  private let responseBytesMax: Int
  private let progress: @Sendable (Progress) -> Void

  /// Takes a request.
  ///
  /// - Throws: What in it cannot be sent.
  init(
    _ exchange: Exchange, _ options: CurlTransport.Options,
    _ progress: @escaping @Sendable (Progress) -> Void
  ) throws(SendFailure) {
    let (origin, target) = try Self.split(exchange.url)
    peer = Peer(origin: origin, identity: exchange.identity)
    method = exchange.method
    self.target = target
    var fields = try Self.fields(exchange.headers)
    var body = Self.content(exchange)
    if options.compresses, method == "POST", target.hasSuffix("/v1/sync"),
      case .bytes(let bytes) = body, bytes.count >= Self.compressedBytesMin,
      let packed = try? GzipEncoder.encode(bytes), packed.count < bytes.count
    {
      body = .bytes(packed)
      fields.append("Content-Encoding: gzip")
    }
    // libcurl names a type of its own otherwise.
    let namesType = exchange.headers.contains { $0.0.lowercased() == "content-type" }
    self.fields = namesType ? fields : fields + ["Content-Type:"]
    self.body = body
    if case .file(let stretch) = exchange.body { file = stretch } else { file = nil }
    try file?.check()
    timeoutMs = max(1, Int(clamping: exchange.timeout.wholeMilliseconds))
    responseBytesMax = max(0, exchange.responseBytesMax)
    self.progress = progress
  }

  private static func split(
    _ url: String
  ) throws(SendFailure) -> (origin: UpstreamURL, target: String) {
    let begin = url.firstOccurrence(of: "://")?.upperBound ?? url.startIndex
    let end = url[begin...].firstIndex { "/?#".contains($0) } ?? url.endIndex
    let rest = String(url[end...])
    if let refusal = TargetSyntax.refusal(of: Array((rest.isEmpty ? "/" : rest).utf8)[...]) {
      throw .unsendable("the URL's path \(refusal)")
    }
    do throws(UpstreamURL.Refusal) {
      return (try UpstreamURL(String(url[..<end])), rest)
    } catch {
      throw .unsendable("the URL: \(error.description)")
    }
  }

  private static func fields(
    _ headers: [(String, String)]
  ) throws(SendFailure) -> [String] {
    var lines: [String] = []
    for (name, value) in headers {
      var block = HeaderBlock()
      guard block.append(name: name, value: value) else {
        throw .unsendable("the header field \(name) cannot be sent")
      }
      // libcurl takes a name without a value for a field to leave out.
      lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
    }
    return lines
  }

  private static func content(_ exchange: Exchange) -> Conversation.Content {
    switch exchange.body {
    case .bytes(let bytes): .bytes(bytes)
    case .file(let stretch):
      .pieces(count: stretch.count) { place in try? stretch.piece(at: place) }
    // RFC 9110 section 8.6: what usually has a body says that there is none.
    case .none: ["POST", "PUT", "PATCH"].contains(exchange.method) ? .bytes([]) : .none
    }
  }

  /// Makes the request.
  func send(over conversation: Conversation) throws(SendFailure) -> Response {
    var bytes: [UInt8] = []
    var isCut = false
    let call = Conversation.Call(
      method: method, target: target, fields: fields, body: body, timeoutMs: timeoutMs,
      progress: { [progress] told in
        progress(Progress(sent: told.sent, total: told.total, received: told.received))
      }, stop: stop)
    do throws(Conversation.Failure) {
      let answer = try conversation.send(call) { [responseBytesMax] _, piece in
        let room = responseBytesMax - bytes.count
        isCut = piece.count > room
        bytes.append(contentsOf: piece.prefix(room))
        return !isCut
      }
      return Response(
        status: answer.status,
        headers: answer.fields.map { field in
          (
            String(decoding: field.name, as: UTF8.self),
            String(decoding: field.value, as: UTF8.self)
          )
        }, body: bytes, isCut: isCut)
    } catch {
      throw failure(error)
    }
  }

  /// Ends the request; it may be called at any time.
  func cancel() { stop.stop() }

  /// A conversation's failure in this library's words.
  func failure(_ failure: Conversation.Failure) -> SendFailure {
    SendFailure(
      reason: "\(peer.origin.authority): \(file?.unread ?? failure.reason)",
      mayHaveArrived: failure.mayHaveArrived)
  }
}

// The relay's core has a type of this name as well.
typealias SendFailure = WaystationOutbox.ConnectionFailure

extension Duration {
  /// Whole milliseconds, rounded down.
  var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
    return isTooLarge ? .max : product + attoseconds / 1_000_000_000_000_000
  }
}
