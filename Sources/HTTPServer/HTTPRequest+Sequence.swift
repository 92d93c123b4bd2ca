extension HTTPRequest {
  /// Reads requests that stand one after another, each of which says how long it is: a body of the
  /// type `application/http` (RFC 9112 section 10.2).
  ///
  /// - Parameters:
  ///   - countMax: The most that there may be.
  ///   - origin: Where all of them come from.
  /// - Throws: What is wrong with the first one that is no request.
  package static func sequence(
    _ bytes: [UInt8], limits: HTTPLimits, countMax: Int, origin: RequestOrigin
  ) throws(ProtocolProblem) -> [HTTPRequest] {
    var (requests, position): ([HTTPRequest], Int) = ([], 0)
    while position < bytes.count {
      guard requests.count < countMax else {
        throw .malformed("There are more than \(countMax) requests in one.")
      }
      var parser = RequestParser(limits: limits)
      switch parser.parse(bytes, position..<bytes.count) {
      case .needMore: throw .malformed("The last request is cut off.")
      case .refused(let problem): throw problem
      case .complete(let head, let end):
        let body = try bodyRange(of: head, at: end, in: bytes)
        position = body.upperBound
        requests.append(
          HTTPRequest(head: head, body: RequestBody(Array(bytes[body])), origin: origin))
      }
    }
    return requests
  }

  private static func bodyRange(
    of head: RequestHead, at start: Int, in bytes: [UInt8]
  ) throws(ProtocolProblem) -> Range<Int> {
    switch head.framing {
    case .none: return start..<start
    case .length(let length):
      guard length <= Int64(bytes.count - start) else { throw .malformed("A body is cut off.") }
      return start..<start + Int(length)
    case .chunked: throw .malformed("A body does not say how long it is.")
    }
  }
}
