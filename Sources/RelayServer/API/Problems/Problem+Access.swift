import RelayCore

// Problems with who asks.

extension Problem {
  private static let realm = #"Bearer realm="waystation""#

  /// No credential was shown, and one is needed.
  package static func unauthenticated() -> Problem {
    var problem = Problem(
      .unauthenticated, "This call needs a token, and none came with it.",
      fix: "Send \"Authorization: Bearer TOKEN\" with a token of the relay's.")
    problem.challenge = realm
    return problem
  }

  /// The credential is none of the relay's, or not any more.
  ///
  /// Which of the two is not told: that would say which ids exist.
  package static func badCredentials() -> Problem {
    var problem = Problem(
      .unauthenticated,
      "The token is not one of this relay's, or it has ended, or was revoked.",
      fix: "Keep what waits, and ask the operator for a new token.")
    problem.challenge = realm + #", error="invalid_token""#
    return problem
  }

  /// The certificate that opened the connection has ended meanwhile.
  package static func endedCertificate(_ end: WallTime) -> Problem {
    var problem = Problem(
      .unauthenticated,
      "The certificate of this connection, or one that vouches for it, ended at"
        + " \(RFC3339.format(end)).",
      fix: "Keep what waits, and connect anew with a certificate that holds.")
    problem.challenge = realm
    return problem
  }

  /// A credential is there twice.
  package static func doubleCredentials(_ field: String) -> Problem {
    var problem = Problem(
      .malformedRequest, "\(field) is given twice.", field: field, fix: "Give the field once.")
    problem.challenge = realm + #", error="invalid_request""#
    return problem
  }

  /// The caller is known, and may not do this.
  ///
  /// - Parameter isForClients: Whether a client's own token alone does, and no operator's.
  package static func forbidden(isForClients: Bool = false) -> Problem {
    var problem = Problem(
      .forbidden, "This token does not allow the call.",
      fix: isForClients
        ? "Ask with a client's own token: the call is about that."
        : "Ask with a token of a role that does; see docs/protocol.md.")
    problem.challenge = realm + #", error="insufficient_scope""#
    return problem
  }

  /// A request without a credential names a host that is not the relay's.
  package static func unknownHost(_ host: String) -> Problem {
    Problem(
      .unknownHost,
      "The request names the host \(host.quoted), by which this relay is not known, and"
        + " shows no token that it knows.", field: "Host",
      fix:
        "Name a host that it is known by, show a token, or ask the operator to put the host into"
        + " access.hosts.")
  }

  /// A browser sent a request without a credential for the page of another site.
  package static func crossSite(_ origin: String) -> Problem {
    Problem(
      .crossSite,
      "A browser says that another site had it send this (\(origin.quoted)), and no token"
        + " came with it.",
      fix:
        "Ask from the relay's own page, or with a token. If it is the relay's own host, ask the"
        + " operator to put that into access.hosts.")
  }

  /// The caller is a client, and names another one.
  package static func otherClient(_ name: String, field: String) -> Problem {
    Problem(
      .forbidden, "The token is another client's than \(name.quoted).", field: field,
      fix: "Leave the client out, or name the token's own: the token says who it is.")
  }

  /// There is no such token, or no longer.
  package static func unknownToken(_ id: String) -> Problem {
    Problem(.unknownToken, "There is no token \(id.quoted).", fix: "GET /v1/tokens lists them.")
  }

  /// A token that a key would make, were there such a key for this client.
  package static func keylessToken(_ id: String) -> Problem {
    Problem(
      .unknownToken,
      "No configured key makes the token \(id.quoted), so it is worth nothing as it is.",
      fix: "If the key is to come back, revoke the token then.")
  }

  /// Nobody has allowed for this token to be renewed.
  package static func unrenewableToken(_ end: WallTime?) -> Problem {
    let until = end.map { " It ends at \(RFC3339.format($0))." } ?? ""
    return Problem(
      .notRenewable, "The operator has not allowed for this token to be renewed.\(until)",
      fix: "Ask the operator for another one. One that is made with renewableUntil, as "
        + "'waystation token create --renewable-until' does, can be renewed.")
  }

  /// The token goes as far already as it may be renewed.
  package static func exhaustedToken(_ end: WallTime) -> Problem {
    Problem(
      .notRenewable,
      "The operator has allowed for this token to be renewed until \(RFC3339.format(end)), and it "
        + "ends then already.",
      fix: "Ask the operator for another one before.")
  }

  /// The token does not end by itself.
  package static func endlessToken() -> Problem {
    Problem(
      .notRenewable, "This token does not end by itself, so there is nothing to renew.",
      fix: "Go on with it as it is.")
  }

  /// The token is one that a key makes.
  package static func unrenewableDerivedToken() -> Problem {
    Problem(
      .notRenewable,
      "A token that begins with wsk_ is made of a key, and does not end by itself.",
      fix: "Go on with it as it is. Only a token that begins with wst_ is renewed.")
  }

  /// The caller is known by a certificate alone.
  package static func unrenewableCertificate() -> Problem {
    Problem(
      .notRenewable, "The relay issues no certificates, and cannot renew one.",
      fix: "Have it renewed by who has issued it, or show the token that is to be renewed.")
  }

  /// As many tokens of keys are revoked as may be.
  package static func tooManyRevocations(countMax: Int) -> Problem {
    Problem(
      .tooManyTokens,
      "The token was not revoked: that \(countMax) tokens of keys were revoked is remembered, and "
        + "there is no room for more.",
      fix: "Take its key out of the configuration, which ends all tokens of the key, or raise "
        + "access.tokensMax.")
  }

  /// As many tokens are stored as may be.
  package static func tooManyTokens(countMax: Int) -> Problem {
    Problem(
      .tooManyTokens, "\(countMax) tokens are stored, and no more can be.",
      fix: "Revoke those that have ended, provision clients by a key, or raise access.tokensMax.")
  }
}
