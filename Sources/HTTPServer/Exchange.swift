/// A finished request and its response, for the access log.
package struct Exchange: Sendable {
  /// The origin of the request.
  package let origin: RequestOrigin
  /// The version of TLS, such as `TLSv1.3`; nil where there is none.
  package let tlsVersion: String?
  /// The request line and fields; nil if they did not arrive whole, or could not be read.
  package let head: RequestHead?
  /// The rule by which the server itself has refused it; nil if a handler has answered.
  package let problem: ProtocolProblem.Kind?
  /// The status of the response; nil if the peer had gone before there was one.
  package let status: Int?
  /// Whether the response was sent whole.
  package let isWhole: Bool
  /// The bytes of the head and of the part of the body that was read, without framing.
  package let receivedBytes: Int64
  /// The bytes of the response that were sent, with head and framing, without TLS.
  package let sentBytes: Int64
  /// The time in microseconds from reading the head until the response was sent; nil if no handler
  /// was asked.
  package let durationUs: Int64?
  /// The handler's note.
  package let note: (any ExchangeNote)?
}

extension Exchange {
  /// A request that came together with others in one, and its response.
  package init(
    of request: HTTPRequest, _ response: HTTPResponse, receivedBytes: Int, sentBytes: Int,
    durationUs: Int64
  ) {
    self.init(
      origin: request.origin, tlsVersion: nil, head: request.head, problem: nil,
      status: response.status, isWhole: true, receivedBytes: Int64(receivedBytes),
      sentBytes: Int64(sentBytes), durationUs: durationUs, note: response.note)
  }
}

/// A handler's note on a request for the access log.
package protocol ExchangeNote: AnyObject, Sendable {}

/// The keeper of an access log.
package protocol ExchangeObserver: Sendable {
  /// Whether the log is on now; called once for each request, and has to be quick.
  var isOn: Bool { get }

  /// Notes that an exchange is over.
  ///
  /// Called on a loop's thread, so it must not wait.
  func ended(_ exchange: Exchange)
}

/// The bytes of one request that went over a connection.
struct ExchangeTraffic {
  var received: Int64 = 0
  var sent: Int64 = 0
}
