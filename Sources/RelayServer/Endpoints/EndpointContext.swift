import HTTPServer
import RelayCore

/// What endpoints share.
struct EndpointContext: Sendable {
  let relay: Relay
  let rules: AcceptanceRules
  let clientNumbers = ClientNumbers()
  private let troubleLog = TroubleLog()

  init(_ relay: Relay) {
    self.relay = relay
    rules = AcceptanceRules(relay.configuration)
  }

  var store: any EnvelopeStore { relay.store }
  var limits: LimitsConfiguration { rules.limits }

  /// What the sender is told of trouble in the store; the log is told the rest.
  func problem(_ error: StoreError) -> Problem {
    if error.kind != .closed, troubleLog.isDue(error.kind, at: relay.now().monotonic) {
      relay.log.error("store trouble", ("error", .text(error.description)))
    }
    return Problem(error)
  }
}

extension HTTPResponse {
  /// An answer in JSON.
  static func json(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
    var response = HTTPResponse(status: status, body: .bytes(bytes))
    response.headers.add("Content-Type", "application/json")
    return response
  }

  /// An answer in JSON that nobody may keep.
  static func freshJSON(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
    var response = HTTPResponse.json(bytes, status: status)
    response.headers.add("Cache-Control", "no-store")
    return response
  }
}

extension Problem {
  /// What is told of a body that could not be read.
  ///
  /// The HTTP server answers that by itself, so this one is seen only where it does not.
  init(_ error: RequestBodyError, bytesMax: Int) {
    switch error {
    case .tooLarge: self = .bodyTooLarge(bytesMax: bytesMax)
    case .malformed, .disconnected: self = .malformedRequest("The body is not properly framed.")
    case .timedOut: self = .requestTimeout("The body did not go on in time.")
    }
  }
}
