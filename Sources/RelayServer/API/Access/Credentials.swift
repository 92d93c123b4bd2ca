import HTTPServer
import RelayCore

/// The credential that a request shows the relay.
///
/// It stands in `Authorization`, or, so that a relayed request can bring another one for its
/// upstream, in `Waystation-Authorization`. On `/v1/relay/…` an `Authorization` that holds none of
/// the relay's own tokens is the upstream's business.
package struct Credentials: Equatable, Sendable {
  /// The credential of a request.
  package enum Shown: Equatable, Sendable {
    /// No credential for the relay.
    case nothing
    /// A value in the form of the relay's tokens.
    case token(AccessToken)
    /// A value that can be no token of the relay.
    case nonsense
  }

  /// The credential of a request.
  package let shown: Shown

  /// Looks through the fields of a request.
  ///
  /// - Parameters:
  ///   - isRelayed: Whether `Authorization` may be meant for an upstream.
  ///   - isOpen: Whether callers need no credential, so that one of another kind is none of the
  ///     relay's business.
  /// - Throws: `malformed-request` if a field is there twice.
  package init(_ head: RequestHead, isRelayed: Bool, isOpen: Bool) throws(Problem) {
    var own: ArraySlice<UInt8>?
    var common: ArraySlice<UInt8>?
    for field in head.fields {
      if head.isNamed(field, "Authorization") {
        guard common == nil else { throw .doubleCredentials("Authorization") }
        common = head.value(of: field)
      } else if head.isNamed(field, "Waystation-Authorization") {
        guard own == nil else { throw .doubleCredentials("Waystation-Authorization") }
        own = head.value(of: field)
      }
    }
    if let own {
      shown = Self.bearer(own).flatMap(AccessToken.init).map(Shown.token) ?? .nonsense
    } else if let text = common.flatMap(Self.bearer) {
      if let token = AccessToken(parsing: text) {
        shown = .token(token)
      } else {
        let isOthers = (isRelayed || isOpen) && !AccessToken.isMarked(text)
        shown = isOthers ? .nothing : .nonsense
      }
    } else {
      shown = .nothing
    }
  }

  /// The token of a field's value, where its scheme is Bearer (RFC 6750 section 2.1), whatever the
  /// case of its letters (RFC 9110 section 11.1).
  static func bearer(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard FieldSyntax.hasPrefix(value, "Bearer ") else { return nil }
    return value.dropFirst("Bearer ".utf8.count).drop { $0 == 0x20 }
  }
}
