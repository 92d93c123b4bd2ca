import EventLoop

/// A request, as a handler sees it.
package struct HTTPRequest: Sendable {
  /// The request line and the fields.
  package let head: RequestHead
  /// The body, to be pulled.
  package let body: RequestBody
  /// Where it came from.
  package let origin: RequestOrigin

  /// A request made of its parts.
  package init(head: RequestHead, body: RequestBody, origin: RequestOrigin) {
    self.head = head
    self.body = body
    self.origin = origin
  }

  /// A request from its bytes, head and body, for tests; nil where they are not one whole request.
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

/// What answers requests.
package protocol RequestHandler: Sendable {
  /// Answers a request.
  ///
  /// Runs in the connection's own task, on its event loop: it may suspend for as long as it needs,
  /// and must not block. The task is cancelled when the server's drain runs out of time, and when
  /// the peer has ended its side: it has gone, or wants its answer now. What is returned is sent
  /// nevertheless. So whoever only waits should stop waiting then, and whoever makes a change
  /// should see it through.
  ///
  /// Where reading the body has thrown a ``RequestBodyError``, the server answers that by itself,
  /// and what this returns is not sent.
  func respond(to request: HTTPRequest) async -> HTTPResponse
}
