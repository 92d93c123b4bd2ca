import Foundation
import Synchronization

/// A device: an HTTP/1.1 client that keeps its connection.
final class Device: Sendable {
  /// The client's name, sent as `Waystation-Client` by ``relay(_:_:upstream:headers:body:)``.
  let name: String
  /// What it shows with every request, unless it shows something else; nil for nothing.
  private let token: String?
  private let port: UInt16
  private let connection = Monitor<Connection?>(nil)

  init(_ name: String, port: UInt16, token: String? = nil) {
    self.name = name
    self.port = port
    self.token = token
  }

  /// Makes a request, on the connection there is or a new one.
  func request(
    _ method: String, _ target: String, headers: [String: String] = [:], body: [UInt8]? = nil
  ) async throws -> WireResponse {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: relay\r\n"
    if let token, headers["Authorization"] == nil, headers["Waystation-Authorization"] == nil {
      head += "Authorization: Bearer \(token)\r\n"
    }
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
    if let body { head += "Content-Length: \(body.count)\r\n" }
    return try await raw(Array((head + "\r\n").utf8) + (body ?? []), method: method)
  }

  /// Sends these very bytes, and reads one answer.
  func raw(_ bytes: [UInt8], method: String = "GET") async throws -> WireResponse {
    try await onThread { [self] in
      let open = connection.change { connection in
        defer { connection = nil }
        return connection
      }
      let connection = try open ?? Connection(port: port)
      try connection.write(bytes)
      let response = try connection.readResponse(to: method)
      if response["Connection"]?.lowercased() == "close" {
        connection.close()
      } else {
        self.connection.change { $0 = connection }
      }
      return response
    }
  }

  /// Asks.
  func get(_ target: String, headers: [String: String] = [:]) async throws -> WireResponse {
    try await request("GET", target, headers: headers)
  }

  /// Posts one envelope; `client` is put in where it is missing.
  func post(
    _ envelope: [String: any Sendable], headers: [String: String] = [:]
  ) async throws -> WireResponse {
    try await post(json: Self.json(named(envelope)), headers: headers)
  }

  /// Posts an array of envelopes.
  func post(
    batch: [[String: any Sendable]], headers: [String: String] = [:]
  ) async throws -> WireResponse {
    try await post(json: Self.json(batch.map(named)), headers: headers)
  }

  /// Posts JSON as it stands.
  func post(json: [UInt8], headers: [String: String] = [:]) async throws -> WireResponse {
    let fields = headers.merging(["Content-Type": "application/json"]) { given, _ in given }
    return try await request("POST", "/v1/envelopes", headers: fields, body: json)
  }

  /// Relays a request as it is.
  func relay(
    _ method: String, _ path: String, upstream: String = "default",
    headers: [String: String] = [:], body: [UInt8]? = nil
  ) async throws -> WireResponse {
    let fields = headers.merging(["Waystation-Client": name]) { given, _ in given }
    return try await request(method, "/v1/relay/\(upstream)\(path)", headers: fields, body: body)
  }

  /// Waits at the relay until an envelope has ended, and returns how it stands.
  func end(of id: String) async throws -> [String: Any] {
    try await get("/v1/envelopes/\(id)?wait=20").json()
  }

  private func named(_ envelope: [String: any Sendable]) -> [String: any Sendable] {
    envelope.merging(["client": name]) { given, _ in given }
  }

  /// A value as JSON text.
  static func json(_ value: Any) throws -> [UInt8] {
    Array(try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys]))
  }
}
