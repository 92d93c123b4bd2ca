#if PostgreSQL
import CPostgres
import Glibc

/// Where a database is, and how to reach it.
///
/// The URL is read by libpq (`PQconninfoParse`), so it takes all its parameters, such as
/// `sslmode=verify-full` and several hosts with `target_session_attrs=read-write`. What it leaves
/// out comes from libpq's variables (`PGPASSWORD` and others) and its defaults
/// (<https://www.postgresql.org/docs/15/libpq-connect.html>).
package struct PostgresAddress: Sendable, CustomStringConvertible, CustomReflectable {
  /// One of the hosts, which are tried in their order.
  struct Host: Sendable {
    /// A name, an address, or the folder of a Unix socket.
    var name: String?
    /// An address, which saves the look-up of the name.
    var address: String?
    var port: String?
  }

  /// At least one.
  let hosts: [Host]
  /// How many hosts there are.
  package var hostCount: Int { hosts.count }
  /// All parameters of the URL but those of ``hosts``; a password may be among them.
  let parameters: [String: String]
  /// A file with the password; it is read for each connection, so that it can be replaced.
  let passwordFile: String?
  /// What the server shows of the connection in `pg_stat_activity`.
  let applicationName: String

  /// The hosts with their ports, and the database, for messages.
  package let subject: String

  /// Reads a `postgresql://` URL.
  ///
  /// - Parameter passwordFile: A file with nothing but the password and perhaps a line's end. It
  ///   takes the place of a password in the URL.
  /// - Throws: ``PostgresError/Kind/invalid``. No part of the URL is quoted, since anything that
  ///   is in the wrong place there may be a part of the password.
  package init(
    url: String, passwordFile: String? = nil, applicationName: String
  ) throws(PostgresError) {
    if let flaw = Self.flaw(in: url) { throw Self.invalid(flaw) }
    var found = try Self.parse(url)
    if let flaw = Self.flaw(in: found) { throw Self.invalid(flaw) }
    func take(_ name: String) -> [String] {
      found.removeValue(forKey: name)?.split(separator: ",", omittingEmptySubsequences: false)
        .map(String.init) ?? []
    }
    let (names, addresses, ports) = (take("host"), take("hostaddr"), take("port"))
    let count = max(names.count, addresses.count, 1)
    guard names.isEmpty || addresses.isEmpty || names.count == addresses.count,
      ports.count <= 1 || ports.count == count
    else { throw Self.invalid("it has another number of ports or addresses than of hosts") }
    guard ports.allSatisfy({ $0.isEmpty || UInt16($0).map { $0 > 0 } == true }) else {
      throw Self.invalid("a port is no number from 1 to 65535")
    }
    hosts = (0..<count).map { index in
      Host(
        name: Self.element(index, of: names), address: Self.element(index, of: addresses),
        port: Self.element(ports.count == 1 ? 0 : index, of: ports))
    }
    let database = found["dbname"] ?? found["user"] ?? ""
    subject = hosts.map(\.description).joined(separator: ",") + "/" + database
    parameters = found
    self.passwordFile = passwordFile
    self.applicationName = applicationName
  }

  private init(_ host: Host, of whole: PostgresAddress) {
    hosts = [host]
    parameters = whole.parameters.filter { $0.key != "target_session_attrs" }
    passwordFile = whole.passwordFile
    applicationName = whole.applicationName
    subject = host.description
  }

  /// One of the hosts alone, whether it writes or not.
  package func alone(_ index: Int) -> PostgresAddress {
    PostgresAddress(hosts[index], of: self)
  }

  private static func element(_ index: Int, of list: [String]) -> String? {
    list.indices.contains(index) && !list[index].isEmpty ? list[index] : nil
  }

  /// What is wrong with a URL that libpq might take for something else.
  ///
  /// It ends the user's part at the first `@`, and the host at the first `/`: the rest of a
  /// password that has one of these would become a host or a database, and stand in messages.
  private static func flaw(in url: String) -> String? {
    guard let scheme = ["postgresql://", "postgres://"].first(where: url.hasPrefix) else {
      return "it does not begin with postgresql://"
    }
    if url.utf8.contains(0) { return "it has a character 0" }
    let rest = url.dropFirst(scheme.count).prefix { $0 != "?" }
    let authority = rest.prefix { $0 != "/" }
    if rest.count(where: { $0 == "@" }) > 1 || rest.dropFirst(authority.count).contains("@") {
      return "write @ as %40 and / as %2F in a name or a password"
    }
    return nil
  }

  /// The parameters that the URL has.
  private static func parse(_ url: String) throws(PostgresError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard let first = PQconninfoParse(url, &message) else {
      defer { PQfreemem(message) }
      throw invalid(message.map { withoutQuotes(String(cString: $0)) } ?? "there is no memory")
    }
    defer { PQconninfoFree(first) }
    var found: [String: String] = [:]
    var option = first
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    return found
  }

  private static func invalid(_ detail: String) -> PostgresError {
    PostgresError(
      kind: .invalid, operation: "read", subject: "the URL of the database", detail: detail)
  }

  /// The same as ``subject``: no password is shown by accident.
  package var description: String { subject }
  /// Without children, likewise.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension PostgresAddress.Host {
  /// The host and its port, for messages.
  var description: String {
    let name = name ?? address ?? "the default host"
    return (name.contains(":") ? "[\(name)]" : name) + ":" + (port ?? "5432")
  }
}

extension PostgresAddress {
  /// The server ends what takes longer than this, so that nothing waits or locks for ever.
  private static let settings =
    "-c statement_timeout=5s -c idle_in_transaction_session_timeout=2s -c lock_timeout=1s"

  /// What libpq is to be told for a connection to one of the hosts.
  ///
  /// `options` of the URL stand behind the relay's own, so they prevail.
  func parameters(for host: Host) throws(PostgresError) -> [String: String] {
    var all = parameters
    all["host"] = host.name
    all["hostaddr"] = host.address
    all["port"] = host.port
    all["application_name"] = applicationName
    all["client_encoding"] = "UTF8"
    all["options"] = Self.settings + (parameters["options"].map { " " + $0 } ?? "")
    if let passwordFile { all["password"] = try Self.password(in: passwordFile, for: subject) }
    return all
  }

  /// Reads the password's file, and looks for all others that the URL names.
  ///
  /// - Throws: ``PostgresError/Kind/invalid`` for the first that cannot be read.
  package func checkFiles() throws(PostgresError) {
    try requireFiles()
    if let passwordFile { _ = try Self.password(in: passwordFile, for: subject) }
  }

  private static func password(
    in path: String, for subject: String
  ) throws(PostgresError) -> String {
    func failure(_ detail: String) -> PostgresError {
      PostgresError(
        kind: .invalid, operation: "connect", subject: subject,
        detail: "the password's file \(path) \(detail)")
    }
    guard let file = fopen(path, "re") else {
      throw failure("cannot be opened: \(String(cString: strerror(errno)))")
    }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    guard !bytes.isEmpty, !bytes.contains(0),
      let password = String(validating: bytes, as: UTF8.self)
    else { throw failure("holds no password") }
    return password
  }
}
#endif
