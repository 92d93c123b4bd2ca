import JSON
import RelayCore

/// The upstream's answer to an envelope, as `GET /v1/envelopes/{id}/response` brings it.
struct EnvelopeAnswer {
  /// The most of a body that is shown to people, in bytes.
  static let shownBytesMax = 8192
  /// The fields of such a response that are the relay's own.
  private static let ownNames: Set = [
    "cache-control", "x-content-type-options", "content-security-policy",
    "cross-origin-resource-policy", "content-length", "date", "server",
  ]

  /// The upstream's status, as text.
  let status: String
  /// The upstream's header fields, in their order.
  let fields: [(name: String, value: String)]
  let body: [UInt8]
  /// Whether the relay has kept only the beginning of the body.
  let isTruncated: Bool

  /// Takes the relay's response apart; nil if it is none of an upstream's answer.
  init?(_ response: RelayClient.Response) {
    var status: String?
    var isTruncated = false
    var fields: [(name: String, value: String)] = []
    for field in response.fields {
      let name = String(decoding: field.name, as: UTF8.self)
      let value = String(decoding: field.value, as: UTF8.self)
      switch name.lowercased() {
      case "waystation-upstream-status": status = value
      case "waystation-response-truncated": isTruncated = true
      case "waystation-upstream-location": fields.append(("Location", value))
      case let other where other.hasPrefix("waystation-") || Self.ownNames.contains(other): break
      default: fields.append((name, value))
      }
    }
    guard let status else { return nil }
    self.status = status
    self.fields = fields
    self.isTruncated = isTruncated
    body = response.body
  }

  /// The id under which the next relay has stored the envelope; nil if the answer is none of a
  /// relay's.
  var nextID: String? {
    guard let result = try? JSONValue.parse(body).object(),
      ["accepted", "coalesced", "duplicate"].contains(result.text("result") ?? ""),
      let id = result.text("id")
    else { return nil }
    return EnvelopeID(parsing: id) == nil ? nil : id
  }

  /// The bytes up to a length, without a character at its end that the cut has broken.
  private static func cut(_ bytes: [UInt8], to count: Int) -> ArraySlice<UInt8> {
    var end = min(count, bytes.count)
    // In UTF-8 (RFC 3629 section 3) all bytes of a character but the first are of this form, and
    // there are at most three of them.
    while end < bytes.count, end > count - 3, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    return bytes[..<end]
  }

  /// The body as text; nil if it is none, or is encoded.
  private var text: String? {
    let whole = String(validating: body, as: UTF8.self)
    guard let text = whole ?? (isTruncated ? brokenText : nil) else { return nil }
    let isText = text.unicodeScalars.allSatisfy { scalar in
      scalar.properties.generalCategory != .control || "\t\r\n".unicodeScalars.contains(scalar)
    }
    return isText ? text : nil
  }

  /// The body without the last character, of which the relay has kept a part.
  private var brokenText: String? {
    (1...3).lazy.compactMap { String(validating: body.dropLast($0), as: UTF8.self) }.first
  }

  /// The answer in lines for people.
  func lines(on terminal: Terminal) -> [String] {
    var lines = ["", terminal.styled("the upstream answered \(SafeText.line(status))", .bold)]
    for field in fields {
      lines.append(
        "  " + terminal.styled(SafeText.line(field.name) + ":", .faint) + " "
          + SafeText.line(field.value))
    }
    let size = HumanText.bytes(Int64(body.count)) + (isTruncated ? ", cut off by the relay" : "")
    guard !body.isEmpty else { return lines + ["  (no body)"] }
    guard let text else { return lines + ["  (a body of \(size), which is no text)"] }
    lines.append("")
    let isLong = body.count > Self.shownBytesMax
    let shown =
      isLong ? String(decoding: Self.cut(body, to: Self.shownBytesMax), as: UTF8.self) : text
    // By scalars: CR LF is one character.
    var rows = shown.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    if rows.last?.isEmpty == true { rows.removeLast() }
    for row in rows {
      let row = row.last == "\r" ? row.dropLast() : row
      let cells = row.split(separator: "\t", omittingEmptySubsequences: false)
      lines.append("  " + cells.map { SafeText.line(String($0)) }.joined(separator: "    "))
    }
    if isLong || isTruncated {
      lines.append("  (\(isLong ? "the beginning of " : "")a body of \(size))")
    }
    return lines
  }

  /// Writes the answer as an object: `status`, `headers` (as in an envelope), `body` if it is text
  /// or else `bodyBase64`, and `truncated` if so.
  func write(to json: inout JSONWriter) {
    var names: [String] = []
    var values: [String: [String]] = [:]
    for field in fields {
      if values[field.name] == nil { names.append(field.name) }
      values[field.name, default: []].append(field.value)
    }
    json.object { json in
      if let number = Int(status) { json.member("status", number) }
      json.memberObject("headers") { json in
        for name in names {
          let all = values[name] ?? []
          if all.count == 1 {
            json.member(name, all[0])
          } else {
            json.memberArray(name) { json in for value in all { json.string(value) } }
          }
        }
      }
      if let text {
        json.member("body", text)
      } else {
        json.member("bodyBase64", Base64.text(of: body))
      }
      if isTruncated { json.member("truncated", true) }
    }
  }
}
