import EventLoop
import Forwarder
import JSON
import RelayCore
import RelayServer
import Synchronization

/// Asks a relay as one of its operators, one call at a time.
final class OperatorCall: Sendable {
  /// How long a call may take, in milliseconds.
  static let timeoutMs = 30_000
  /// The longest answer that is read, in bytes.
  static let answerBytesMax = 4 << 20

  private let target: UpstreamTarget
  private let url: UpstreamURL
  private let forwarder: Forwarder
  private let waiting = Waiting()

  /// - Parameter token: The operator's.
  init(
    _ options: TokenOptions, _ environment: [String: String], token: String
  ) throws(TokenFailure) {
    url = try Self.url(options, environment)
    guard token.utf8.allSatisfy({ TokenText.isPathByte($0) }), !token.isEmpty,
      let headers = HeaderBlock(
        stored: Array("Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n".utf8))
    else { throw TokenFailure(reason: "that is no token") }
    let isPlain = url.scheme == .http && !Self.isLoopback(url.host)
    guard !isPlain || options.allowsPlainHTTP else {
      throw TokenFailure(
        reason: "\(url) would have the token sent in plain sight; use https, or give"
          + " --allow-plain-http")
    }
    let waiting = waiting
    do {
      target = try UpstreamTarget(
        name: "relay", url: url, headers: headers, connectTimeoutMs: Self.timeoutMs,
        attemptTimeoutMs: Self.timeoutMs, mayRepeat: false,
        responseBodyBytesMax: Self.answerBytesMax, maxConcurrent: 1,
        certificates: options.authorities.map { .file(path: $0) } ?? .system)
      forwarder = try Forwarder(targets: [target]) { batch in
        guard let report = batch.reports.first else { return }
        waiting.take()?.resume(returning: report.event)
      }
    } catch {
      throw TokenFailure(reason: "\(error)")
    }
  }

  /// Makes a call.
  ///
  /// - Returns: The body of a 2xx answer.
  func make(
    _ method: String, _ path: String, body: [UInt8] = []
  ) async throws(TokenFailure) -> [UInt8] {
    switch await outcome(method, path, body) {
    case .answered(let answer) where (200...299).contains(answer.status):
      return answer.body
    case .answered(let answer):
      throw TokenFailure(reason: "\(url) answers \(answer.status)\(Self.detail(of: answer))")
    case .failed(let failure, let detail):
      throw TokenFailure(
        reason: "\(url) cannot be asked: \(detail.isEmpty ? failure.rawValue : detail)")
    case .unsendable(let reason):
      throw TokenFailure(reason: reason)
    }
  }

  private func outcome(_ method: String, _ path: String, _ body: [UInt8]) async -> AttemptEvent {
    var request = AttemptRequest(
      serial: 1, id: EnvelopeID(high: 0, low: 0), client: "operator", attempt: 1,
      acceptedAt: WallClock.now(), target: target,
      content: EnvelopeContent(
        method: method, target: Array(path.utf8), headers: HeaderBlock(), body: .inline(body)))
    // A question of the relay's own: nothing that belongs to an envelope goes with it.
    request.isVerification = true
    let question = request
    return await withUnsafeContinuation { continuation in
      waiting.put(continuation)
      forwarder.submit([question])
    }
  }

  private static func detail(of answer: UpstreamResponse) -> String {
    guard let object = try? JSONValue.parse(answer.body).object(),
      let detail = try? object["detail"]?.string()
    else { return "" }
    return ": \(detail)"
  }

  private static func url(
    _ options: TokenOptions, _ environment: [String: String]
  ) throws(TokenFailure) -> UpstreamURL {
    let text =
      options.server ?? environment["WAYSTATION_SERVER"].flatMap { $0.isEmpty ? nil : $0 }
      ?? "http://127.0.0.1:8080"
    do throws(UpstreamURL.Refusal) {
      return try UpstreamURL(text)
    } catch {
      throw TokenFailure(reason: "--server, WAYSTATION_SERVER: \(error)")
    }
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || SocketAddress("\(host):0")?.isLoopback == true
  }
}

/// Who waits for the answer to the call under way.
private final class Waiting: Sendable {
  private let continuation = Mutex<UnsafeContinuation<AttemptEvent, Never>?>(nil)

  func put(_ new: UnsafeContinuation<AttemptEvent, Never>) { continuation.withLock { $0 = new } }

  func take() -> UnsafeContinuation<AttemptEvent, Never>? {
    continuation.withLock { continuation in
      defer { continuation = nil }
      return continuation
    }
  }
}
