import Foundation

/// A sender that hands a body over in parts, and goes on where it was cut off.
final class Uploader: Sendable {
  /// How a link ends.
  enum Cut: Sendable {
    /// The relay sees the end of the connection.
    case seen
    /// The relay sees nothing: the connection stands, and nothing comes any more.
    case unseen
  }

  let relay: Relay
  let client: String
  let token: String?
  /// The number of bytes that were sent, heads included.
  private let sent = Monitor(0)
  /// Connections over which nothing comes any more.
  private let standing = Monitor<[Connection]>([])

  init(_ relay: Relay, client: String = "device-1", token: String? = nil) {
    self.relay = relay
    self.client = client
    self.token = token
  }

  /// The number of bytes that were sent, heads included.
  var sentBytes: Int { sent.read { $0 } }

  /// Bytes that are not the same anywhere.
  static func photo(_ count: Int) -> [UInt8] {
    var state: UInt64 = 0x9E37_79B9
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      withUnsafeBytes(of: state) { bytes.append(contentsOf: $0.suffix(4)) }
    }
    return Array(bytes.prefix(count))
  }

  /// Sends a request, of whose body only the beginning may come.
  ///
  /// - Parameter part: What is sent of the body; nil for all of it.
  /// - Returns: The answer; nil if the link is cut before.
  @discardableResult
  func send(
    _ method: String, _ target: String, _ fields: [String: String] = [:], body: [UInt8]? = nil,
    part: Int? = nil, cut: Cut = .seen
  ) async throws -> WireResponse? {
    let head = head(method, target, fields, length: body?.count)
    let content = Array((body ?? []).prefix(part ?? .max))
    sent.change { $0 += head.count + content.count }
    return try await onThread { [self] in
      let connection = try Connection(port: relay.port)
      // An answer may come before all is sent, as to what is refused.
      try? connection.write(head + content)
      guard part != nil else {
        defer { connection.close() }
        return try connection.readResponse(to: method)
      }
      switch cut {
      case .seen:
        connection.endOutput()
        _ = try? connection.readToEnd()
        connection.close()
      case .unseen:
        connection.awaitArrival()
        standing.change { $0.append(connection) }
      }
      return nil
    }
  }

  /// Sends a part of a request's body, and waits until the relay says that so much is on disk, or
  /// more.
  ///
  /// - Returns: The connection, over which the rest could come, and how much is on disk.
  func send(
    _ method: String, _ target: String, _ fields: [String: String], body: [UInt8], part: Int,
    until least: Int
  ) async throws -> (connection: Connection, offset: Int) {
    let asking = fields.merging(["Upload-Draft-Interop-Version": "6"]) { given, _ in given }
    let head = head(method, target, asking, length: body.count)
    return try await onThread { [self] in
      let connection = try Connection(port: relay.port)
      try connection.write(head + Array(body.prefix(part)))
      while let text = try connection.read(through: "\r\n\r\n") {
        let lines = String(decoding: text, as: UTF8.self).components(separatedBy: "\r\n")
        guard lines[0] == "HTTP/1.1 104 Upload Resumption Supported",
          lines.contains("Upload-Draft-Interop-Version: 6")
        else { throw ProtocolViolation(description: "\(lines)") }
        let said = lines.compactMap { line in
          line.hasPrefix("Upload-Offset: ") ? Int(line.dropFirst(15)) : nil
        }
        if let offset = said.first, offset >= least { return (connection, offset) }
      }
      throw ConnectionEnded(received: [])
    }
  }

  private func head(
    _ method: String, _ target: String, _ fields: [String: String], length: Int?
  ) -> [UInt8] {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: relay\r\n"
    if let token { head += "Authorization: Bearer \(token)\r\n" }
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
    if let length { head += "Content-Length: \(length)\r\n" }
    return Array((head + "\r\n").utf8)
  }

  // MARK: - Uploads

  /// Creates an upload, and returns where it is found.
  func create(
    _ path: String, _ fields: [String: String] = [:], body: [UInt8] = []
  ) async throws -> String {
    let answer = try await creation(path, fields, body: body)
    guard answer.status == 201, let location = answer["Location"] else {
      throw ProtocolViolation(description: "not created: \(answer)")
    }
    return location
  }

  /// Asks for an upload to be created.
  func creation(
    _ path: String, _ fields: [String: String] = [:], body: [UInt8] = []
  ) async throws -> WireResponse {
    let named = ["Waystation-Client": client, "Upload-Complete": "?0"].merging(fields) { $1 }
    guard let answer = try await send("POST", "/v1/relay/default\(path)", named, body: body) else {
      throw ConnectionEnded(received: [])
    }
    return answer
  }

  /// The fields of a request that goes on with an upload.
  static func appending(at offset: Int, completes: Bool) -> [String: String] {
    [
      "Content-Type": "application/partial-upload", "Upload-Offset": "\(offset)",
      "Upload-Complete": completes ? "?1" : "?0",
    ]
  }

  /// Goes on with an upload.
  func append(
    _ location: String, at offset: Int, completes: Bool, _ fields: [String: String] = [:],
    body: [UInt8]
  ) async throws -> WireResponse {
    let all = Self.appending(at: offset, completes: completes).merging(fields) { $1 }
    guard let answer = try await send("PATCH", location, all, body: body) else {
      throw ConnectionEnded(received: [])
    }
    return answer
  }

  /// Asks how an upload stands.
  func state(_ location: String) async throws -> WireResponse {
    guard let answer = try await send("HEAD", location) else {
      throw ConnectionEnded(received: [])
    }
    return answer
  }

  /// Waits until an upload is forgotten.
  ///
  /// It is looked for in the list: a request about it would keep it until the next round.
  func forgotten(_ location: String) async throws {
    let id = (location as NSString).lastPathComponent
    let device = relay.device(client, token: token)
    try await eventually("an upload that is forgotten") {
      let list = try await device.get("/v1/uploads")
      return list.status == 200 && !list.text.contains(id) ? true : nil
    }
  }

  /// Asks where an upload ends.
  func offset(_ location: String) async throws -> Int {
    let answer = try await state(location)
    guard answer.status == 204, let offset = answer["Upload-Offset"].flatMap({ Int($0) }) else {
      throw ProtocolViolation(description: "no offset: \(answer)")
    }
    return offset
  }

  /// Goes on to the end, over a link that is cut after so many bytes each time.
  func finish(_ location: String, _ body: [UInt8], cutAfter bytes: Int, _ cut: Cut) async throws
    -> WireResponse
  {
    while true {
      let offset = try await offset(location)
      let rest = Array(body[offset...])
      let fields = Self.appending(at: offset, completes: true)
      if rest.count <= bytes {
        return try await append(location, at: offset, completes: true, body: rest)
      }
      try await send("PATCH", location, fields, body: rest, part: bytes, cut: cut)
    }
  }
}
