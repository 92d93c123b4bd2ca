import Foundation
import RelayServer

/// Credentials of a relay under test.
enum Credentials {
  /// An operator's token who may steer, and one's who may read.
  static let steer = "wso_" + String(repeating: "5a", count: 32)
  static let read = "wso_" + String(repeating: "7e", count: 32)
  /// The secret of the client key `fleet`, for clients whose names begin with `truck-`.
  static let secret = String(repeating: "0f", count: 32)

  /// The members of a configuration that tell callers apart.
  static var configuration: [String: any Sendable] {
    let keys: [String: any Sendable] = ["fleet": ["secrets": secret, "clients": "truck-*"]]
    let access: [String: any Sendable] = ["operators": operators, "clientKeys": keys]
    return ["access": access]
  }

  /// Operators' tokens, as they stand under `access`.
  static var operators: [String: any Sendable] {
    [
      "steering": ["role": "steer", "tokenSHA256": digest(of: steer)],
      "reading": ["role": "read", "tokenSHA256": digest(of: read)],
    ]
  }

  private static func digest(of token: String) -> String {
    AccessToken.configuredDigest(of: token) ?? ""
  }

  /// The token that the key makes for a client.
  static func derived(_ client: String, key: String = "fleet", secret: String = secret) -> String {
    let token = DerivedToken(key: key, client: client)
    return token?.text(ClientKeyConfiguration.secret(secret) ?? []) ?? ""
  }
}

extension Relay {
  /// A relay that tells callers apart, started.
  static func guarded(
    _ upstream: TestUpstream, upstreamMore: [String: any Sendable] = [:],
    more: [String: any Sendable] = [:]
  ) async throws -> Relay {
    try await started(
      upstream, upstreamMore: upstreamMore,
      more: Credentials.configuration.merging(more) { _, given in given })
  }

  /// One who may do everything.
  var steering: Device { device("steering", token: Credentials.steer) }

  /// One who may look at everything.
  var reading: Device { device("reading", token: Credentials.read) }

  /// Has a token made.
  func token(_ terms: [String: any Sendable]) async throws -> (id: String, text: String) {
    let answer = try await steering.request(
      "POST", "/v1/tokens", headers: ["Content-Type": "application/json"], body: Device.json(terms))
    guard answer.status == 201, let id = try answer.json()["id"] as? String,
      let text = try answer.json()["token"] as? String
    else { throw StartFailure(description: "no token was made: \(answer)") }
    return (id, text)
  }
}
