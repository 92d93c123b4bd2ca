import EventLoop

/// A request, as a handler gets it.
package struct HTTPRequest: Sendable {
  /// The request line and the fields.
  package let head: RequestHead
  /// The body, to be read piece by piece.
  package let body: RequestBody
  /// The origin of the request.
  package let origin: RequestOrigin

  /// Puts the parts together.
  package init(head: RequestHead, body: RequestBody, origin: RequestOrigin) {
    self.head = head
    self.body = body
    self.origin = origin
  }

  /// Parses a request from its bytes, head and body, for tests; nil if they are not one whole
  /// request.
  package init?(
    parsing bytes: [UInt8], limits: HTTPLimits = HTTPLimits(),
    origin: RequestOrigin = .loopback
  ) {
    var parser = RequestParser(limits: limits)
    guard case .complete(let head, let end) = parser.parse(bytes, 0..<bytes.count) else {
      return nil
    }
    self.init(head: head, body: RequestBody(Array(bytes[end...])), origin: origin)
  }
}

/// A handler of requests.
package protocol RequestHandler: Sendable {
  /// Returns the response to a request.
  ///
  /// It runs in the connection's own task, on its event loop: it may suspend for as long as it
  /// needs, and must not block. The task is cancelled when the server's drain runs out of time, and
  /// when the peer has ended its side: it has gone, or wants its response now. The returned
  /// response is sent nevertheless. So a handler that only waits should stop waiting then, and one
  /// that makes a change should complete it.
  ///
  /// If reading the body has thrown a ``RequestBodyError``, the server responds by itself, and the
  /// returned response is not sent.
  func respond(to request: HTTPRequest) async -> HTTPResponse
}
