import HTTPServer
import JSON
import RelayCore

/// The terms of a new token: the body of `POST /v1/tokens`.
package struct TokenTerms: Sendable, Equatable {
  /// Whom it stands for.
  package let grant: TokenRecord.Grant
  /// The token's purpose in the operator's words.
  package let label: String?
  /// The time when it expires.
  package let expiresAt: WallTime?
  /// The time until which its client may renew it; nil if it may not.
  package let renewableUntil: WallTime?

  /// The most bytes of a label.
  package static let labelBytesMax = 200

  /// Reads the body; nil stands for none.
  ///
  /// - Throws: `malformed-json`, `unknown-field`, `invalid-field` or `missing-field`.
  package init(_ text: [UInt8]?) throws(Problem) {
    var client: String?
    var role: OperatorRole?
    var label: String?
    var expiresAt: WallTime?
    var renewableUntil: WallTime?
    let names = ["client", "role", "label", "expiresAt", "renewableUntil"]
    try CommandTerms.forEach(of: text, names) { member throws(Problem) in
      switch member.name {
      case "client": client = try Self.client(member.value)
      case "role": role = try Self.role(member.value)
      case "label": label = try Self.label(member.value)
      case "expiresAt": expiresAt = try EnvelopeFields.time("expiresAt", member.value)
      default: renewableUntil = try EnvelopeFields.time("renewableUntil", member.value)
      }
    }
    grant = try Self.grant(client, role)
    self.label = label
    self.expiresAt = expiresAt
    self.renewableUntil = renewableUntil
    if let renewableUntil { try Self.check(renewableUntil, grant, expiresAt) }
  }

  /// How a token may be renewed that is made now; nil if it may not be.
  ///
  /// Each renewal is for as long as the token is made for.
  ///
  /// - Throws: `invalid-field` if the token has ended already.
  package func renewal(at now: WallTime) throws(Problem) -> TokenRecord.Renewal? {
    guard let renewableUntil, let expiresAt else { return nil }
    let spanMs = expiresAt.milliseconds(since: now)
    guard spanMs > 0 else {
      throw .invalidField(
        "/expiresAt", "expiresAt is past, so it does not say how long a renewed token is good.",
        fix: "Give a time to come.")
    }
    return TokenRecord.Renewal(until: renewableUntil, spanMs: spanMs)
  }

  private static func check(
    _ renewableUntil: WallTime, _ grant: TokenRecord.Grant, _ expiresAt: WallTime?
  ) throws(Problem) {
    guard case .client = grant else {
      throw .invalidField(
        "/renewableUntil", "renewableUntil stands with role, and only clients renew their tokens.",
        fix: "Leave it out, and make an operator another token before this one ends.")
    }
    guard let expiresAt else {
      throw .missingField(
        "/expiresAt", "renewableUntil stands without expiresAt, and only what ends is renewed.",
        fix: "Say when the token ends if it is not renewed: each renewal is for as long.")
    }
    guard expiresAt < renewableUntil else {
      throw .invalidField(
        "/renewableUntil", "renewableUntil is not after expiresAt.",
        fix: "Give a later time, or leave it out.")
    }
  }

  private static func grant(
    _ client: String?, _ role: OperatorRole?
  ) throws(Problem) -> TokenRecord.Grant {
    switch (client, role) {
    case (let client?, nil): return .client(client)
    case (nil, let role?): return .operator(role)
    case (nil, nil):
      throw .missingField(
        "/client", "The body does not say whom the token is for.",
        fix: #"Send {"client": "..."} for a device, or {"role": "read"} for an operator."#)
    case (_?, _?):
      throw .invalidField(
        "/role", "client and role both stand there.",
        fix: "A token is a client's or an operator's; leave one out.")
    }
  }

  private static func client(_ value: JSONValue) throws(Problem) -> String {
    guard let name = try? value.string(), NameSyntax.isName(Array(name.utf8)[...]) else {
      throw EnvelopeFields.wrong("client", value, NameSyntax.rule)
    }
    return name
  }

  private static func role(_ value: JSONValue) throws(Problem) -> OperatorRole {
    guard let word = try? value.string(), let role = OperatorRole(rawValue: word) else {
      throw EnvelopeFields.wrong("role", value, OperatorRole.choices)
    }
    return role
  }

  private static func label(_ value: JSONValue) throws(Problem) -> String {
    guard let label = try? value.string(), (1...labelBytesMax).contains(label.utf8.count),
      label.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else {
      throw EnvelopeFields.wrong(
        "label", value, "text of 1 to \(labelBytesMax) bytes without control characters")
    }
    return label
  }
}

/// The query parameters of `GET /v1/tokens`.
package struct TokenListParameters: Sendable, Equatable {
  /// Only this client's; nil for all.
  package private(set) var client: String?
  /// The most items on a page.
  package private(set) var limit = 100
  /// The id behind which to go on; empty for the beginning.
  package private(set) var cursor = ""

  /// The most tokens of a page.
  package static let limitMax = 1000
  private static let names = ["client", "limit", "cursor"]

  /// Reads a query string.
  ///
  /// - Throws: `unknown-field` or `invalid-field`; the first thing that is wrong decides.
  package init(_ query: ArraySlice<UInt8>?) throws(Problem) {
    let items = try QueryItems.read(query)
    var seen: Set<String> = []
    for (name, value) in items {
      guard Self.names.contains(name) else { throw .unknownParameter(name, among: Self.names) }
      guard seen.insert(name).inserted else {
        throw .invalidField(name, "\(name) is given twice.", fix: "Give \(name) once.")
      }
      try read(name, value)
    }
  }

  private mutating func read(_ name: String, _ value: String) throws(Problem) {
    switch name {
    case "client":
      guard NameSyntax.isName(Array(value.utf8)[...]) else {
        throw .invalidField(
          name, "client is \(value.quoted); it has to be \(NameSyntax.rule).")
      }
      client = value
    case "limit":
      guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let limit = Int(value),
        (1...Self.limitMax).contains(limit)
      else {
        throw .invalidField(
          name,
          "limit is \(value.quoted); it has to be a whole number from 1 to"
            + " \(Self.limitMax).")
      }
      self.limit = limit
    default:
      guard AccessToken.isStoredID(value) || DerivedToken(id: value) != nil else {
        throw .invalidField(
          name, "\(value.quoted) is no cursor.",
          fix: "Give next as the page before had it, or leave cursor out to begin anew.")
      }
      cursor = value
    }
  }
}
