import Foundation

/// A relay between a device and a service that wants tokens of a server.
final class TokenStand: Sendable {
  static let secret = "s3cret/of-the-relay"

  let relay: Relay
  let server: TestUpstream
  let service: TestUpstream
  private let lifetimeSeconds: Int
  private let key: String?
  private let attemptTimeoutMs: Int
  private let batch: [String: any Sendable]?
  private let probeDelaysMs: (first: Int, max: Int)
  /// The tokens that were given out and are valid, and until when.
  private let valid = Monitor<[String: Date]>([:])

  init(
    lifetimeSeconds: Int, secret: String = secret, key: String? = nil,
    attemptTimeoutMs: Int = 20_000, batch: [String: any Sendable]? = nil,
    probeDelaysMs: (first: Int, max: Int) = (50, 100)
  ) throws {
    self.lifetimeSeconds = lifetimeSeconds
    self.key = key
    self.attemptTimeoutMs = attemptTimeoutMs
    self.batch = batch
    self.probeDelaysMs = probeDelaysMs
    server = try TestUpstream()
    service = try TestUpstream()
    relay = try Relay(upstreams: [:])
    try configure(secret: secret)
    behave()
    serve()
  }

  /// Has the service look at tokens.
  ///
  /// - Parameter path: Where it answers 401, whatever token it gets; nil for nowhere.
  func serve(refusing path: String? = nil) {
    let valid = valid
    service.behave { request in
      if let path, request.target.hasPrefix(path) { return .answer(401) }
      let token = String(request["Authorization"]?.dropFirst("Bearer ".count) ?? "")
      let isValid = valid.read { ($0[token] ?? .distantPast) > Date() }
      return .answer(isValid ? 200 : 401, body: Array(token.utf8))
    }
  }

  func configure(secret: String) throws {
    var credentials: [String: any Sendable] = [
      "kind": "oauth2", "tokenURL": "\(server.url)/oauth/token", "clientID": "relay one",
      "scope": "read write", "audience": "https://api",
    ]
    if let key {
      (credentials["privateKey"], credentials["keyID"]) = (key, "key-1")
    } else {
      credentials["clientSecret"] = secret
    }
    var settings: [String: any Sendable] = [
      "credentials": credentials, "connectTimeoutMs": 1000,
      "attemptTimeoutMs": attemptTimeoutMs,
      "reachability": [
        "firstProbeDelayMs": probeDelaysMs.first, "maxProbeDelayMs": probeDelaysMs.max,
      ],
    ]
    settings["batch"] = batch
    try relay.configure(upstreams: ["default": Relay.quick(service, settings)])
  }

  /// Lets the server do its work.
  func behave() {
    let (valid, lifetime) = (valid, lifetimeSeconds)
    let wrong = Data("relay%20one:wrong".utf8).base64EncodedString()
    server.behave { request in
      if request["Authorization"] == "Basic \(wrong)" {
        let words = #"{"error": "invalid_client", "error_description": "no such secret"}"#
        return .answer(401, body: Array(words.utf8))
      }
      let token = "token-" + UUID().uuidString
      let until = Date().addingTimeInterval(Double(lifetime))
      valid.change { $0[token] = until }
      let answer =
        #"{"access_token": "\#(token)", "token_type": "bearer", "expires_in": \#(lifetime)}"#
      return .answer(200, body: Array(answer.utf8))
    }
  }

  /// Tells whether a request's token is valid.
  var validity: @Sendable (WireRequest) -> Bool {
    let valid = valid
    return { request in
      let token = String(request["Authorization"]?.dropFirst("Bearer ".count) ?? "")
      return valid.read { ($0[token] ?? .distantPast) > Date() }
    }
  }

  /// Makes the service accept none of the tokens that were given out.
  func revokeAll() { valid.change { $0 = [:] } }

  /// Waits until the upstream is shown as expected.
  func upstream(
    _ what: String, where isExpected: ([String: Any]) -> Bool
  ) async throws -> [String: Any] {
    try await eventually(what) {
      let answer = try await relay.device("operator").get("/v1/upstreams").json()
      let upstreams = answer["upstreams"] as? [[String: Any]]
      return upstreams?.first(where: isExpected)
    }
  }
}
