import RelayCore
import Testing

@testable import RelayServer

/// Values for each field of an envelope, which none has by default, and envelopes that say one of
/// them.
enum FieldSamples {
  /// One value of each, as it stands in JSON; a test fails for a field that is not here.
  static let values: [String: String] = [
    "client": #""other""#, "path": #""/b""#, "body": #"{"a":1}"#, "key": #""k2""#,
    "upstream": #""billing""#, "method": #""PUT""#, "headers": #"{"A":"1"}"#,
    "bodyBase64": #""AAE=""#, "lane": #""photos""#, "sequence": "1", "tag": #""t""#,
    "hold": "true", "notBefore": #""2026-03-01T13:00:00.000Z""#,
    "expiresAt": #""2026-03-02T12:00:00.000Z""#, "onFailure": #""block""#, "coalesce": #""x""#,
    "references": "true", "inOrder": "true", "void": "true", "notBeforeIn": "3600",
    "expiresIn": "7200", "age": "60",
  ]

  /// Another value of each; what is said or not said has but one.
  static let others: [String: String] = [
    "client": #""third""#, "path": #""/c""#, "body": #"{"a":2}"#, "key": #""k3""#,
    "upstream": #""archive""#, "method": #""PATCH""#, "headers": #"{"A":"2"}"#,
    "bodyBase64": #""AAI=""#, "lane": #""films""#, "sequence": "2", "tag": #""u""#,
    "notBefore": #""2026-03-01T14:00:00.000Z""#, "expiresAt": #""2026-03-03T12:00:00.000Z""#,
    "onFailure": #""skip""#, "coalesce": #""y""#, "notBeforeIn": "7200", "expiresIn": "9000",
    "age": "90",
  ]

  /// An envelope with as little as it can have, but with a key, so that it has a fingerprint.
  private static let least = ["client": #""c""#, "path": #""/a""#, "key": #""k""#]

  /// The fields of an envelope; the others say nothing of one, but that there is none.
  static let said = EnvelopeField.all.map(\.name.description).filter { $0 != "void" }

  private static func value(of name: String) throws -> String {
    try #require(values[name], "\(name) has no sample")
  }

  /// The fingerprints of the least, and of envelopes that say one of a field's values.
  static func fingerprints(of name: String) throws -> [[UInt8]] {
    let upstreams = try Fixture.configuration(["default", "billing", "archive"])
    let said = [values[name], others[name]].compactMap { $0.map { [name: $0] } }
    return try ([[:]] + said).map { try Fixture.decode(json($0), upstreams).fingerprint }
  }

  /// The envelope with these fields beside the least, as a sender writes it in JSON.
  static func json(_ fields: [String: String]) -> String {
    let members = least.merging(fields) { $1 }
    return "{" + members.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ",") + "}"
  }

  /// The envelope that says one field; nil for the least.
  static func draft(saying name: String?, besides: [String: String] = [:]) throws -> EnvelopeDraft {
    var fields = besides
    if let name { fields[name] = try value(of: name) }
    return try Fixture.decode(json(fields))
  }

  /// The same as a request on `/v1/relay`; nil if no header field says it.
  static func relayed(saying name: String?) throws -> RelayRequestDecoder.Decoded? {
    var lines = ["Waystation-Client": "c", "Idempotency-Key": "k"]
    if let name {
      guard let header = EnvelopeField.all.first(where: { "\($0.name)" == name })?.header else {
        return nil
      }
      lines["\(header)"] = try value(of: name).filter { $0 != "\"" }
    }
    return try Fixture.relay(
      "/v1/relay/default/a", lines.map { "\($0.key): \($0.value)" }, client: nil)
  }
}
