#if PostgreSQL
import CPostgres
import Glibc

/// Mistakes in a URL's parameters, which libpq tells apart from a server that cannot be reached
/// only by its words.
extension PostgresAddress {
  /// A Unix socket's folder that nobody has.
  private static let nowhere = "/nonexistent/waystation"

  /// What libpq finds wrong with parameters before it looks for a server; nil if that is nothing.
  ///
  /// It looks at values such as that of `sslmode` only when it is to connect. So it is to connect
  /// to a socket that is not there: where its message does not name that one, it has not come so
  /// far. No other machine is asked.
  static func flaw(in parameters: [String: String]) -> String? {
    var all = parameters
    all["host"] = nowhere
    all["hostaddr"] = nil
    all["port"] = nil
    // Else it looks for a password in its own file.
    all["password"] = "none"
    guard let connection = PostgresConnection.start(with: all) else { return "there is no memory" }
    defer { PQfinish(connection) }
    let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
    guard !message.contains(nowhere) else { return nil }
    return switch withoutQuotes(message) {
    case "invalid sslmode value":
      "invalid sslmode value; it is disable, allow, prefer, require, verify-ca or verify-full"
    case "definition of service": "its service is not in libpq's service file"
    case let flaw: flaw
    }
  }

  /// A message of libpq's without the part that it is about, which stands in quotes at its end, and
  /// may be the password.
  static func withoutQuotes(_ message: String) -> String {
    let line = message.prefix { $0 != "\n" }
    var words = line.prefix { $0 != "\"" }
    guard words.count < line.count else { return String(line) }
    while let last = words.last, ": ".contains(last) { words.removeLast() }
    return String(words)
  }

  /// The parameters that name files which libpq reads for TLS.
  private static let filesOfTLS = ["sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir"]

  /// Looks whether the files are there that the URL names.
  ///
  /// Of some libpq says nothing, and goes on without them: without authorities, `sslmode=require`
  /// trusts any server.
  func requireFiles() throws(PostgresError) {
    let isSecure = parameters["sslmode"] != "disable"
    for name in (isSecure ? Self.filesOfTLS : []) + ["passfile"] {
      // `system` are the system's authorities, and a key behind a colon is in a device.
      guard let path = parameters[name], !path.isEmpty, path != "system",
        !(name == "sslkey" && path.contains(":"))
      else { continue }
      guard access(path, R_OK) != 0 else { continue }
      throw PostgresError(
        kind: .invalid, operation: "connect", subject: subject,
        detail: "\(path), which \(name) names, cannot be read: \(String(cString: strerror(errno)))")
    }
  }
}

extension ServerMessage {
  /// Whether a message of a connection that failed is about the relay's files, or about a server
  /// that is not the one that the URL demands: somebody has to mend that.
  ///
  /// libpq and OpenSSL have no codes for it, only these words; they are not translated, as the
  /// relay sets no locale.
  static func isOfMistake(_ message: String) -> Bool {
    [
      "certificate verify failed", "does not match host name", "root certificate file",
      "certificate file", "private key file", "host name must be specified for a verified",
      "server does not support SSL", "channel binding required",
    ].contains { message.contains($0) }
  }
}
#endif
