import RelayCore

/// Several requests that one relay passes on to another one in one request, and their answers.
///
/// Both are messages of HTTP, one after another, as `application/http` says (RFC 9112 section
/// 10.2). The answers come in the order of the requests, and each message says how long it is.
package enum PassedBundle {
  /// What such a request asks for, by POST.
  package static let target = "/v1/passed"
  /// The type of its body, and of its answer.
  package static let mediaType = "application/http"
  /// The most requests in one.
  package static let itemsMax = 64
  /// The most bytes of the requests in one, beside the last one.
  package static let bytesMax = 256 << 10
  /// The longest body of a request that goes with others, in bytes; a longer one goes by itself.
  package static let bodyBytesMax = 32 << 10
  /// The most fields of a request that goes with others: fewer than any relay takes that is not
  /// told to take less, so that a request that is refused for its fields is refused by itself.
  package static let fieldsMax = 48
  /// The longest head of a request that goes with others, in bytes.
  package static let requestHeadBytesMax = 8 << 10
  /// The most digits of a length.
  private static let lengthDigitsMax = 19
  /// The most bytes of header lines of one answer.
  static let headBytesMax = 64 << 10

  // MARK: - The requests

  /// How many bytes a request takes at most.
  static func byteCount(of request: PassedRequest) -> Int {
    guard case .whole(let body) = request.body else { return 0 }
    return request.method.utf8.count + request.target.count + request.fields.bytes.count
      + body.count + "  HTTP/1.1\r\nContent-Length: \r\n\r\n".utf8.count + lengthDigitsMax
  }

  /// Puts requests together whose bodies are here.
  static func body(of requests: some Collection<PassedRequest>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(requests.reduce(0) { $0 + byteCount(of: $1) })
    for request in requests {
      guard case .whole(let body) = request.body else {
        preconditionFailure("a body that is not here goes by itself")
      }
      bytes += request.method.utf8
      bytes.append(UInt8(ascii: " "))
      bytes += request.target
      bytes += " HTTP/1.1\r\n".utf8
      bytes += request.fields.bytes
      bytes += "Content-Length: \(body.count)\r\n\r\n".utf8
      bytes += body
    }
    return bytes
  }

  // MARK: - The answers

  /// An answer, whole.
  struct Answer {
    let head: PassedAnswer
    let body: [UInt8]
  }

  /// Reads answers, up to the first one that cannot be read.
  static func answers(in bytes: [UInt8]) -> [Answer] {
    var (answers, position): ([Answer], Int) = ([], 0)
    while position < bytes.count, let answer = answer(in: bytes, at: &position) {
      answers.append(answer)
    }
    return answers
  }

  private static func answer(in bytes: [UInt8], at position: inout Int) -> Answer? {
    var head = ResponseHead(bytesMax: headBytesMax)
    while !head.isComplete {
      guard let end = bytes[position...].firstIndex(of: 0x0A) else { return nil }
      let line = bytes.span.extracting(position..<end + 1)
      if case .malformed = head.receive(line) { return nil }
      position = end + 1
    }
    // An answer without its length could not be told from the next one.
    guard let status = head.status, let length = head.contentLength,
      length <= Int64(bytes.count - position)
    else { return nil }
    let body = Array(bytes[position..<position + Int(length)])
    position += Int(length)
    return Answer(
      head: PassedAnswer(status: status, fields: head.headers(), contentLength: length),
      body: body)
  }
}
