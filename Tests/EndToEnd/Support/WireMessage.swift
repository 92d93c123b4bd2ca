import Foundation

/// One header field as it came over the wire.
struct WireField: Sendable, Equatable {
  let name: String
  let value: String
}

/// An HTTP/1.1 message as it came over the wire.
struct WireMessage: Sendable {
  /// The request line or status line.
  var startLine: String
  /// The fields, in their order.
  var fields: [WireField]
  /// The body, with chunks put together.
  var body: [UInt8]

  /// The first field's value of this name; letters' case does not count.
  subscript(name: String) -> String? { values(of: name).first }

  /// All values of this name.
  func values(of name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }

  /// The body as text.
  var text: String { String(decoding: body, as: UTF8.self) }

  /// The body as a JSON object.
  func json() throws -> [String: Any] {
    let value = try JSONSerialization.jsonObject(with: Data(body))
    guard let object = value as? [String: Any] else {
      throw ProtocolViolation(description: "no JSON object: \(text)")
    }
    return object
  }
}

/// What came is not the HTTP that was expected.
struct ProtocolViolation: Error, CustomStringConvertible {
  let description: String
}

/// A request that an upstream received.
struct WireRequest: Sendable {
  var message: WireMessage
  /// The request line's three parts.
  var method: String
  var target: String

  init(_ message: WireMessage) throws {
    let parts = message.startLine.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2].hasPrefix("HTTP/1.") else {
      throw ProtocolViolation(description: "no request line: \(message.startLine)")
    }
    self.message = message
    method = String(parts[0])
    target = String(parts[1])
  }

  var body: [UInt8] { message.body }
  subscript(name: String) -> String? { message[name] }
}

/// An answer that a device received.
struct WireResponse: Sendable, CustomStringConvertible {
  var message: WireMessage
  var status: Int

  init(_ message: WireMessage) throws {
    let parts = message.startLine.split(separator: " ", maxSplits: 2)
    guard parts.count >= 2, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else {
      throw ProtocolViolation(description: "no status line: \(message.startLine)")
    }
    self.message = message
    self.status = status
  }

  var body: [UInt8] { message.body }
  var text: String { message.text }
  subscript(name: String) -> String? { message[name] }
  func json() throws -> [String: Any] { try message.json() }

  /// The name of the problem that this answer tells of; nil if it tells of none.
  var problem: String? {
    guard message["Content-Type"] == "application/problem+json",
      let type = try? message.json()["type"] as? String
    else { return nil }
    let prefix = "urn:waystation:problem:"
    return type.hasPrefix(prefix) ? String(type.dropFirst(prefix.count)) : type
  }

  var description: String { "\(status) \(text)" }
}

extension Connection {
  /// Reads a header; nil if the connection ended before its first byte.
  private func readHead() throws -> WireMessage? {
    guard let head = try read(through: "\r\n\r\n") else { return nil }
    // Latin-1 keeps every byte.
    let text = String(String.UnicodeScalarView(head.dropLast(4).map { Unicode.Scalar($0) }))
    var lines = text.components(separatedBy: "\r\n")
    let startLine = lines.removeFirst()
    let fields = try lines.map { line in
      guard let colon = line.firstIndex(of: ":") else {
        throw ProtocolViolation(description: "no field line: \(line)")
      }
      return WireField(
        name: String(line[..<colon]),
        value: line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }
    return WireMessage(startLine: startLine, fields: fields, body: [])
  }

  private func readChunks() throws -> [UInt8] {
    var body: [UInt8] = []
    while true {
      guard let line = try read(through: "\r\n"),
        let size = Int(
          String(decoding: line.dropLast(2).prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self),
          radix: 16)
      else { throw ProtocolViolation(description: "no chunk size") }
      if size == 0 { break }
      body += try read(count: size)
      _ = try read(count: 2)
    }
    while let line = try read(through: "\r\n"), line.count > 2 {}
    return body
  }

  /// Reads a request; nil if the connection ended between requests.
  func readRequest() throws -> WireRequest? {
    guard var message = try readHead() else { return nil }
    if message["Expect"]?.lowercased() == "100-continue" {
      try write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }
    if message["Transfer-Encoding"] != nil {
      message.body = try readChunks()
    } else if let length = message["Content-Length"].flatMap({ Int($0) }) {
      message.body = try read(count: length)
    }
    return try WireRequest(message)
  }

  /// Reads an answer, past interim ones.
  ///
  /// - Parameter method: The request's: an answer to `HEAD` has no body.
  func readResponse(to method: String) throws -> WireResponse {
    while true {
      guard var message = try readHead() else { throw ConnectionEnded(received: []) }
      let status = try WireResponse(message).status
      if (100..<200).contains(status) { continue }
      if method == "HEAD" || status == 204 || status == 304 {
        return try WireResponse(message)
      }
      if message["Transfer-Encoding"] != nil {
        message.body = try readChunks()
      } else if let length = message["Content-Length"].flatMap({ Int($0) }) {
        message.body = try read(count: length)
      } else {
        message.body = try readToEnd()
      }
      return try WireResponse(message)
    }
  }
}
