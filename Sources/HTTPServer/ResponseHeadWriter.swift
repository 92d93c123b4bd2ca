/// Writes the head of a response as bytes.
enum ResponseHeadWriter {
  /// Appends the status line and all fields, and the empty line after them.
  static func append(
    _ response: HTTPResponse, _ plan: ConnectionState.ResponsePlan, _ context: LoopContext,
    to head: inout [UInt8]
  ) {
    appendStatus(response.status, to: &head)
    head.append(contentsOf: response.headers.bytes)
    if !response.headers.hasDate { context.appendDate(to: &head) }
    switch plan.framing {
    case .bodiless, .untilClose: break
    case .length(let length): appendLength(length, to: &head)
    case .chunked: append("Transfer-Encoding: chunked\r\n", to: &head)
    }
    if !plan.keepsAlive {
      append("Connection: close\r\n", to: &head)
    } else if plan.saysKeepAlive {
      append("Connection: keep-alive\r\n", to: &head)
    }
    endLine(&head)
  }

  /// Appends the head of a response that is kept in memory, and goes over no connection of its own.
  static func append(_ response: HTTPResponse, contentLength: Int64, to head: inout [UInt8]) {
    appendStatus(response.status, to: &head)
    head.append(contentsOf: response.headers.bytes)
    appendLength(contentLength, to: &head)
    endLine(&head)
  }

  private static func appendLength(_ length: Int64, to head: inout [UInt8]) {
    append("Content-Length: ", to: &head)
    appendDecimal(length, to: &head)
    endLine(&head)
  }

  private static func appendStatus(_ status: Int, to head: inout [UInt8]) {
    // An interim or impossible status, for example from an upstream, would leave the peer waiting.
    let status = (200...999).contains(status) ? status : 500
    append("HTTP/1.1 ", to: &head)
    appendDecimal(Int64(status), to: &head)
    head.append(0x20)
    append(reason(status), to: &head)
    endLine(&head)
  }

  private static func endLine(_ head: inout [UInt8]) {
    head.append(0x0D)
    head.append(0x0A)
  }

  static func append(_ text: StaticString, to head: inout [UInt8]) {
    text.withUTF8Buffer { head.append(contentsOf: $0) }
  }

  static func appendDecimal(_ number: Int64, to head: inout [UInt8]) {
    if number >= 10 { appendDecimal(number / 10, to: &head) }
    head.append(0x30 + UInt8(number % 10))
  }

  /// Appends a chunk's size line.
  static func appendChunkSize(_ size: Int, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: String(size, radix: 16).utf8)
    append("\r\n", to: &bytes)
  }

  /// The reason phrase of a status (RFC 9110 section 15, RFC 6585, RFC 4918); empty for any other.
  static func reason(_ status: Int) -> StaticString {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 425: "Too Early"
    case 426: "Upgrade Required"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    case 507: "Insufficient Storage"
    case 508: "Loop Detected"
    default: ""
    }
  }
}
