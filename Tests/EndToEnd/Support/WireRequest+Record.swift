import Foundation

extension WireRequest {
  /// It as an upstream writes it down for an audit, in a line.
  func recorded() throws -> String {
    var headers: [String: String] = [:]
    for field in message.fields { headers[field.name] = field.value }
    let line: [String: any Sendable] = [
      "method": method, "path": target, "headers": headers,
      "bodyBase64": Data(body).base64EncodedString(),
    ]
    return String(decoding: try Device.json(line), as: UTF8.self)
  }
}
