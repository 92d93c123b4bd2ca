import Cryptography
import RelayCore

/// The server that gives an upstream's access tokens, and how it is asked.
package struct TokenSource: Sendable {
  /// The server.
  let endpoint: UpstreamTarget
  /// The key that requests are signed with; nil if they are not.
  package let key: SigningKey?
  /// The authorities that the server's certificate has to come from.
  package var authorities: UpstreamTarget.CertificateAuthorities { endpoint.certificates }
  /// Makes a request at a moment.
  let request: @Sendable (WallTime) -> EnvelopeContent
  /// Reads what came of it.
  let read: @Sendable (AttemptReport, WallTime) -> TokenAnswer

  /// Describes a source.
  ///
  /// - Parameters:
  ///   - endpoint: Without credentials, since its answers are read as they are.
  ///   - request: Called on the forwarder's thread, with the time for signatures.
  ///   - read: Called on the forwarder's thread, with the end of the request and the time.
  package init(
    endpoint: UpstreamTarget, key: SigningKey?,
    request: @escaping @Sendable (WallTime) -> EnvelopeContent,
    read: @escaping @Sendable (AttemptReport, WallTime) -> TokenAnswer
  ) {
    self.endpoint = endpoint
    self.key = key
    self.request = request
    self.read = read
  }
}

/// What a server has made of a request for an access token.
package enum TokenAnswer: Sendable, Equatable {
  /// It gave one: visible ASCII characters; for so long, if it says so.
  case granted(String, lifetimeMs: Int64?)
  /// It gave none now, and may later.
  case unavailable(String, retryAfterMs: Int64?)
  /// It will give none to these credentials.
  case refused(String)
}

/// An access token that was fetched.
final class FetchedToken: Sendable {
  /// Its number, by which ``TokenKeeper`` knows it.
  let number: Int
  /// The token.
  let value: String
  /// Keeps it out of responses.
  let mask: CredentialMask

  init(number: Int, value: String) {
    self.number = number
    self.value = value
    mask = CredentialMask([value])
  }
}
