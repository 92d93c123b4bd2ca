/// Reads from a complete head's fields what concerns the connection and the body's framing.
///
/// A head that two recipients could frame differently is a way to smuggle a second request past one
/// of them (RFC 9112 section 11.2). So any doubt refuses it.
enum HeadReading {
  /// The few fields that the server itself acts on.
  private struct Findings {
    var contentLength: RequestHead.Field?
    var contentLengthCount = 0
    var transferEncodings: [RequestHead.Field] = []
    var host: RequestHead.Field?
    var hostCount = 0
    var closes = false
    var keepsAlive = false
    var expectsContinue = false
  }

  static func read(
    _ bytes: [UInt8], _ line: RequestLine, _ fields: [RequestHead.Field]
  ) throws(ProtocolProblem) -> RequestHead {
    let findings = try find(bytes, fields)
    try checkHost(bytes, line, findings)
    let framing = try framing(bytes, line, findings)
    let isModern = line.version == .http11
    return RequestHead(
      bytes: bytes, method: line.method, version: line.version, framing: framing,
      wantsKeepAlive: !findings.closes && (isModern || findings.keepsAlive),
      // A 1.0 sender does not know interim responses (RFC 9110 section 10.1.1).
      expectsContinue: findings.expectsContinue && isModern && framing != .none,
      fields: fields, targetRange: line.target, pathRange: line.path, queryRange: line.query,
      authorityRange: line.authority)
  }

  private static func find(
    _ bytes: [UInt8], _ fields: [RequestHead.Field]
  ) throws(ProtocolProblem) -> Findings {
    var findings = Findings()
    for field in fields {
      // The length tells most fields apart before any bytes are compared.
      switch field.nameEnd - field.nameStart {
      case 4 where named(bytes, field, "host"):
        findings.host = field
        findings.hostCount += 1
      case 6 where named(bytes, field, "expect"):
        guard ASCII.equalsIgnoringCase(bytes, value(field), "100-continue") else {
          throw ProtocolProblem(.expectationFailed, "Only the expectation 100-continue is met.")
        }
        findings.expectsContinue = true
      case 10 where named(bytes, field, "connection"):
        for element in ASCII.elements(bytes, value(field)) {
          if ASCII.equalsIgnoringCase(bytes, element, "close") { findings.closes = true }
          if ASCII.equalsIgnoringCase(bytes, element, "keep-alive") { findings.keepsAlive = true }
        }
      case 14 where named(bytes, field, "content-length"):
        findings.contentLength = field
        findings.contentLengthCount += 1
      case 17 where named(bytes, field, "transfer-encoding"):
        findings.transferEncodings.append(field)
      default: break
      }
    }
    return findings
  }

  /// Checks for exactly one valid `Host` in HTTP/1.1 (RFC 9112 section 3.2), and at most one in
  /// HTTP/1.0.
  private static func checkHost(
    _ bytes: [UInt8], _ line: RequestLine, _ findings: Findings
  ) throws(ProtocolProblem) {
    guard findings.hostCount < 2 else { throw .malformed("There is more than one Host field.") }
    guard let host = findings.host else {
      if line.version == .http10 { return }
      throw .malformed("There is no Host field.")
    }
    guard HostReading.isValid(bytes, value(host)) else {
      throw .malformed("The Host field is not a host and an optional port.")
    }
  }

  /// How the body is delimited (RFC 9112 sections 6.1 to 6.3).
  private static func framing(
    _ bytes: [UInt8], _ line: RequestLine, _ findings: Findings
  ) throws(ProtocolProblem) -> BodyFraming {
    if !findings.transferEncodings.isEmpty {
      guard findings.contentLengthCount == 0 else {
        throw .malformed("Content-Length stands beside Transfer-Encoding.")
      }
      guard line.version == .http11 else {
        throw .malformed("HTTP/1.0 has no Transfer-Encoding.")
      }
      try checkCodings(bytes, findings.transferEncodings)
      return .chunked
    }
    guard let contentLength = findings.contentLength else { return .none }
    guard findings.contentLengthCount == 1 else {
      throw .malformed("There is more than one Content-Length.")
    }
    return .length(try length(bytes, value(contentLength)))
  }

  /// Checks that `chunked` is the last coding, and occurs once; any other coding is unknown here.
  private static func checkCodings(
    _ bytes: [UInt8], _ fields: [RequestHead.Field]
  ) throws(ProtocolProblem) {
    var codings: [Range<Int>] = []
    for field in fields { codings += ASCII.elements(bytes, value(field)) }
    let chunkedCount = codings.count { ASCII.equalsIgnoringCase(bytes, $0, "chunked") }
    guard let last = codings.last, chunkedCount == 1,
      ASCII.equalsIgnoringCase(bytes, last, "chunked"), !codings.contains(where: \.isEmpty)
    else {
      throw .malformed("The transfer coding chunked does not stand last and once.")
    }
    guard codings.count == 1 else {
      throw ProtocolProblem(.notImplemented, "The only transfer coding known here is chunked.")
    }
  }

  /// Parses digits and nothing else: no sign, no list, no number beyond `Int64.max`.
  private static func length(
    _ bytes: [UInt8], _ range: Range<Int>
  ) throws(ProtocolProblem) -> Int64 {
    var length: Int64 = 0
    for index in range {
      guard CharacterClass.isDigit(bytes[index]) else {
        throw .malformed("Content-Length is not one decimal number.")
      }
      let (product, tooLarge) = length.multipliedReportingOverflow(by: 10)
      let (sum, stillTooLarge) = product.addingReportingOverflow(Int64(bytes[index] - 0x30))
      guard !tooLarge, !stillTooLarge else { throw .malformed("Content-Length is out of range.") }
      length = sum
    }
    guard !range.isEmpty else { throw .malformed("Content-Length is empty.") }
    return length
  }

  private static func value(_ field: RequestHead.Field) -> Range<Int> {
    Int(field.valueStart)..<Int(field.valueEnd)
  }

  private static func named(
    _ bytes: [UInt8], _ field: RequestHead.Field, _ name: StaticString
  ) -> Bool {
    ASCII.equalsIgnoringCase(bytes, Int(field.nameStart)..<Int(field.nameEnd), name)
  }
}
