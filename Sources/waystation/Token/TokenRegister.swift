import JSON
import RelayCore

/// The actions of `waystation token` that call a relay: they make, list, revoke and renew tokens.
struct TokenRegister {
  let options: TokenOptions
  let relay: RelayClient

  /// The most tokens on a page of the list.
  private static let pageMax = 1000

  private var isJSON: Bool { options.given.has("--json") }

  func run() throws(OperatorFailure) {
    switch options.action {
    case .create: try create()
    case .revoke: try revoke()
    case .renew: try renew()
    default: try list()
    }
  }

  private func create() throws(OperatorFailure) {
    let answer = try relay.object("POST", "/v1/tokens", body: body)
    guard let id = answer.text("id"), let token = answer.text("token") else { throw .notARelay }
    if options.client?.contains("*") == true {
      StandardStream.error.line(
        "note: * stands for no other characters in a client's name; a token with --role steer may"
          + " post for every client")
    }
    guard !isJSON else { return StandardStream.output.line(answer.line) }
    StandardStream.error.line("made the token \(SafeText.line(id)), which is shown only once:")
    StandardStream.output.line(SafeText.line(token))
  }

  private func renew() throws(OperatorFailure) {
    let answer: JSONObject
    do throws(OperatorFailure) {
      answer = try relay.object("POST", "/v1/token/renew")
    } catch {
      throw Self.renewalFailure(error)
    }
    guard let id = answer.text("id"), let token = answer.text("token") else { throw .notARelay }
    guard !isJSON else { return StandardStream.output.line(answer.line) }
    let end = answer.text("expiresAt").map { ", which ends at \($0)" } ?? ""
    StandardStream.error.line(SafeText.line("renewed the token \(id)\(end):"))
    StandardStream.output.line(SafeText.line(token))
  }

  /// The failure in the words of a client: the others are an operator's.
  private static func renewalFailure(_ failure: OperatorFailure) -> OperatorFailure {
    var reason = failure.reason
    switch (failure.status, failure.kind) {
    case (401, _), (403, _):
      reason =
        "\(failure.status ?? 0): this takes a client's own token, in WAYSTATION_TOKEN or by"
        + " --token-file: one that has not ended, was not revoked, and was not renewed twice since"
    case (404, "not-found"):
      reason =
        "404: no token is renewed at this address: is that a listener for devices, of a relay that"
        + " is new enough? Look at --server and WAYSTATION_SERVER."
    default: return failure
    }
    return OperatorFailure(
      reason: reason, code: failure.code, status: failure.status, kind: failure.kind)
  }

  private func revoke() throws(OperatorFailure) {
    let id = options.id ?? ""
    guard id.utf8.allSatisfy(TokenText.isPathByte) else {
      throw OperatorFailure(
        reason: "'\(SafeText.line(id))' is no token's id; 'waystation token list' shows them",
        code: .usage)
    }
    try relay.call("DELETE", "/v1/tokens/\(id)")
    guard isJSON else { return StandardStream.output.line("revoked \(id)") }
    var json = JSONWriter()
    json.object { json in
      json.member("id", id)
      json.member("revoked", true)
    }
    StandardStream.output.line(String(decoding: json.finish(), as: UTF8.self))
  }

  private func list() throws(OperatorFailure) {
    let filter = options.client.map { ["client=\(TokenText.percentEncoded($0))"] } ?? []
    let list = PagedList(
      relay: relay, path: "/v1/tokens", filter: filter, member: "tokens", pageMax: Self.pageMax)
    try list.pages(limit: nil) { page, _ in
      for token in page {
        let line = isJSON ? token.line : SafeText.line(TokenText.line(token))
        StandardStream.output.line(line)
      }
    }
  }

  private var body: [UInt8] {
    var json = JSONWriter()
    json.object { json in
      if let client = options.client { json.member("client", client) }
      if let role = options.role { json.member("role", role.rawValue) }
      if let label = options.label { json.member("label", label) }
      if let end = options.expiresAt { json.member("expiresAt", RFC3339.format(end)) }
      if let until = options.renewableUntil {
        json.member("renewableUntil", RFC3339.format(until))
      }
    }
    return json.finish()
  }
}
