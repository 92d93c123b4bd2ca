import EventLoop
import Forwarder
import JSON
import RelayCore
import RelayServer

/// A client of a running relay's API; each call blocks until the response is there.
final class RelayClient {
  /// The time limit of a call, in milliseconds.
  static let timeoutMs = 60_000
  /// The longest response that is read, in bytes.
  static let answerBytesMax = 64 << 20

  /// The relay's address, as people write it.
  let server: Conversation.Server
  private let conversation: Conversation
  private let fields: [String]

  /// - Parameter home: The folder that a leading `~` stands for in the names of files, where no
  ///   shell has put it in; nil if one has.
  init(
    _ options: OptionReader, _ environment: [String: String], home: String? = nil
  ) throws(OperatorFailure) {
    server = try Self.server(options, environment)
    let token = try Self.token(options, environment, home: home)
    if token != nil, !options.has("--allow-plain-http"), case .url(let url) = server,
      url.scheme == .http, !Self.isLoopback(url.host)
    {
      throw OperatorFailure(
        reason: "\(url) would have the token sent in plain sight; use https, or give"
          + " --allow-plain-http")
    }
    var fields = ["Accept: application/json", "User-Agent: waystation/\(ReleaseVersion.number)"]
    if let token { fields.append("Authorization: Bearer \(token)") }
    self.fields = fields
    var authorities = UpstreamTarget.CertificateAuthorities.system
    if let path = options.text("--ca").map({ Self.path($0, home: home) }) {
      do throws(UpstreamTargetError) {
        authorities = try UpstreamTarget.CertificateAuthorities(reading: path)
      } catch {
        throw OperatorFailure(reason: "--ca: \(error.description)")
      }
    }
    do throws(Conversation.Failure) {
      conversation = try Conversation(with: server, certificates: authorities)
    } catch {
      throw OperatorFailure(reason: error.reason)
    }
  }

  /// A whole response.
  struct Response {
    let status: Int
    let fields: HeaderBlock
    let body: [UInt8]
  }

  /// Makes a call, and returns the body of a 2xx response.
  @discardableResult
  func call(
    _ method: String, _ target: String, body: [UInt8]? = nil, type: String = "application/json",
    timeoutMs: Int = RelayClient.timeoutMs
  ) throws(OperatorFailure) -> [UInt8] {
    try response(method, target, body: body, type: type, timeoutMs: timeoutMs).body
  }

  /// Makes a call, and returns a 2xx response.
  func response(
    _ method: String, _ target: String, body: [UInt8]? = nil, type: String = "application/json",
    timeoutMs: Int = RelayClient.timeoutMs
  ) throws(OperatorFailure) -> Response {
    var bytes: [UInt8] = []
    var isTooLong = false
    let answer = try send(
      method, target, fields: body == nil ? [] : ["Content-Type: \(type)"], body: body,
      timeoutMs: timeoutMs
    ) { _, piece in
      bytes.append(contentsOf: piece)
      isTooLong = bytes.count > Self.answerBytesMax
      return !isTooLong
    }
    guard !isTooLong else { throw OperatorFailure(reason: "the answer of \(server) is too long") }
    guard (200...299).contains(answer.status) else {
      throw .answered(answer.status, bytes, retryAfter: answer.retryAfterSeconds)
    }
    return Response(status: answer.status, fields: answer.fields, body: bytes)
  }

  /// Makes a call, and returns the JSON object of a 2xx response.
  @discardableResult
  func object(
    _ method: String, _ target: String, body: [UInt8]? = nil,
    type: String = "application/json"
  ) throws(OperatorFailure) -> JSONObject {
    let bytes = try call(method, target, body: body, type: type)
    guard let object = try? JSONValue.parse(bytes).object() else { throw .notARelay }
    return object
  }

  /// Makes a request whose response is passed on piece by piece.
  func send(
    _ method: String, _ target: String, fields more: [String], body: [UInt8]? = nil,
    timeoutMs: Int?, receive: @escaping (Int, UnsafeBufferPointer<UInt8>) -> Bool
  ) throws(OperatorFailure) -> Conversation.Answer {
    do throws(Conversation.Failure) {
      return try conversation.send(
        method, target, fields: fields + more, body: body, timeoutMs: timeoutMs, receive: receive)
    } catch {
      throw OperatorFailure(
        reason: "\(server) does not answer: \(error.reason)\n"
          + "Look whether the relay runs there ('waystation health'), or name another with"
          + " --server or WAYSTATION_SERVER.",
        code: .unanswered, mayPass: error.mayPass)
    }
  }

  // MARK: - The server

  private static func server(
    _ options: OptionReader, _ environment: [String: String]
  ) throws(OperatorFailure) -> Conversation.Server {
    let variable = environment["WAYSTATION_SERVER"].flatMap { $0.isEmpty ? nil : $0 }
    let origin = options.has("--server") ? "--server" : "WAYSTATION_SERVER"
    let text = options.text("--server") ?? variable ?? "http://127.0.0.1:8080"
    if case .unix(let path) = Endpoint(text) { return .unix(path: path) }
    do throws(UpstreamURL.Refusal) {
      return .url(try UpstreamURL(text))
    } catch {
      throw OperatorFailure(
        reason: "\(origin): \(error), or a Unix socket, as in unix:/run/waystation.sock",
        code: .usage)
    }
  }

  private static func path(_ written: String, home: String?) -> String {
    guard let home, written.hasPrefix("~/") else { return written }
    return home + written.dropFirst()
  }

  private static func token(
    _ options: OptionReader, _ environment: [String: String], home: String?
  ) throws(OperatorFailure) -> String? {
    var text = environment["WAYSTATION_TOKEN"] ?? ""
    if let file = options.text("--token-file").map({ path($0, home: home) }) {
      do throws(SystemError) {
        text = String(decoding: try FileContents.read(file, bytesMax: 65536), as: UTF8.self)
      } catch {
        throw OperatorFailure(reason: "--token-file: \(file) cannot be read: \(error.reason)")
      }
    }
    let words = text.split { $0.isWhitespace }
    guard let token = words.first else { return nil }
    guard words.count == 1, token.utf8.allSatisfy({ TokenText.isPathByte($0) }) else {
      throw OperatorFailure(reason: "what --token-file or WAYSTATION_TOKEN holds is no token")
    }
    return String(token)
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || SocketAddress("\(host):0")?.isLoopback == true
  }
}
