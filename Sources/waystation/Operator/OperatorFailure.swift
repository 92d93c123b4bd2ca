import JSON

/// The reason that a command that calls a relay failed; it never holds a secret.
struct OperatorFailure: Error, Equatable {
  let reason: String
  /// The exit code of the program.
  var code = ExitCode.failed
  /// The status of the relay's response; nil if there was none.
  var status: Int?
  /// The kind of problem that the relay named, as in `unknown-envelope`; nil if it named none.
  var kind: String?
  /// Whether trying again later could help.
  var mayPass = false
  /// The time after which to try again, in seconds, if the relay named one.
  var retryAfterSeconds: Int?

  static let notARelay = OperatorFailure(
    reason: "what answers is no Waystation; look at --server and WAYSTATION_SERVER")

  /// The failure that a response other than 2xx describes, with advice on what to do next.
  static func answered(_ status: Int, _ body: [UInt8], retryAfter: Int?) -> OperatorFailure {
    let problem = try? JSONValue.parse(body).object()
    func text(_ name: StaticString) -> String? {
      (try? problem?[name]?.string()).map(SafeText.line)
    }
    let kind = text("type").flatMap { $0.split(separator: ":").last }.map(String.init)
    var parts = [text("detail") ?? text("title") ?? "the relay answers \(status)"]
    if let field = text("field") { parts[0] += " (\(field))" }
    // What a device is told to do with a token of its own is no advice for an operator.
    if let fix = text("fix"), !fix.isEmpty, status != 401 { parts.append(fix) }
    switch status {
    case 401:
      parts.append("Set WAYSTATION_TOKEN, or give --token-file FILE with an operator's token.")
    case 403:
      parts.append(
        "It takes an operator's token: of the role 'steer' for what changes anything, and for what"
          + " devices have sent.")
    case 404 where kind == "not-found":
      parts.append("Is that a listener for operators? Look at --server and WAYSTATION_SERVER.")
    default: break
    }
    let mayPass = status == 429 || status == 503 || status == 507 || status == 408
    return OperatorFailure(
      reason: "\(status): " + parts.joined(separator: " "), status: status, kind: kind,
      mayPass: mayPass,
      retryAfterSeconds: retryAfter)
  }
}
