/// A request and what came of it, as whoever keeps an access log is told once it is over.
package struct Exchange: Sendable {
  /// Where the request came from.
  package let origin: RequestOrigin
  /// The version of TLS, such as `TLSv1.3`; nil where there is none.
  package let tlsVersion: String?
  /// The request's line and fields; nil where they did not come whole, or could not be read.
  package let head: RequestHead?
  /// The rule that the server itself has refused it by; nil where a handler has answered.
  package let problem: ProtocolProblem.Kind?
  /// The status that was answered; nil where the peer had gone before there was an answer.
  package let status: Int?
  /// Whether the answer went out whole.
  package let isWhole: Bool
  /// The bytes of the head and of what was read of the body, framing left out.
  package let receivedBytes: Int64
  /// The bytes of the answer that went out, head and framing included, TLS left out.
  package let sentBytes: Int64
  /// How long it took from the moment its head was read until its answer had gone out; nil where
  /// nobody was asked for one.
  package let durationUs: Int64?
  /// What the handler has to say of it.
  package let note: (any ExchangeNote)?
}

/// What a handler has to say of a request to whoever keeps an access log.
package protocol ExchangeNote: AnyObject, Sendable {}

/// Who keeps an access log.
package protocol ExchangeObserver: Sendable {
  /// Whether it is kept just now; asked once for each request, and has to be quick.
  var isOn: Bool { get }

  /// An exchange is over; on a loop's thread, so that this must not wait.
  func ended(_ exchange: Exchange)
}

/// What has gone over a connection for one request, in bytes.
struct ExchangeTraffic {
  var received: Int64 = 0
  var sent: Int64 = 0
}
