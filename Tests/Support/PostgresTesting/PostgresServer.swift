#if PostgreSQL
import Foundation
import Synchronization

/// The server that the tests of one process share, on loopback.
package struct PostgresServer: Sendable {
  /// The port on 127.0.0.1.
  package let port: Int
  /// The file of its certificate, for 127.0.0.1, which it has issued itself.
  package let certificate: String

  /// Stops the server when this process ends.
  private let keeper: ServerKeeper

  /// The server, started once.
  package static let shared: Result<PostgresServer, any Error> = Result {
    // A port that was free a moment ago may be somebody else's by now.
    for _ in 0..<3 {
      if let server = try start() { return server }
    }
    throw Failure("PostgreSQL did not start three times; its log is above")
  }

  /// The folder of PostgreSQL's programs, of the newest version from 15 on; nil if there is none.
  static let programs: String? = {
    let folder = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let newest = versions.compactMap(Int.init).filter { $0 >= 15 }.max()
    return newest.map { "\(folder)/\($0)/bin" }.flatMap {
      FileManager.default.isExecutableFile(atPath: $0 + "/pg_ctl") ? $0 : nil
    }
  }()

  /// The URL of one of its databases, over TLS unless `?sslmode=disable` is added.
  package func url(ofDatabase name: String) -> String {
    "postgresql://postgres@127.0.0.1:\(port)/\(name)"
  }

  /// The role that needs a password to log in, once a test has created it.
  package static let roleWithPassword = "secretive"
  /// The same for a test that changes its password.
  package static let roleWithChangingPassword = "changing"

  /// Starts the server, and what keeps it.
  ///
  /// A standby that does not exist is named, so that a commit with `synchronous_commit=on` waits
  /// for it for ever; by default none does.
  private static let script = """
    port=$2 roles=$3
    finish() { control data stop -m immediate; }
    make_server data <<END
    ssl = on
    ssl_key_file = '$folder/key.pem'
    ssl_cert_file = '$folder/certificate.pem'
    port = $port
    max_connections = 1000
    full_page_writes = off
    shared_buffers = 64MB
    max_wal_senders = 1
    synchronous_standby_names = 'nobody'
    synchronous_commit = local
    END
    {
      echo "host all $roles 127.0.0.1/32 scram-sha-256"
      echo "host all all 127.0.0.1/32 trust"
    } >"$folder/data/pg_hba.conf"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \\
      -subj /CN=test -addext subjectAltName=IP:127.0.0.1 -keyout "$folder/key.pem" \\
      -out "$folder/certificate.pem" >"$folder/openssl.log" 2>&1 || fail
    if [ -n "$as" ]; then chown postgres: "$folder/key.pem"; fi
    chmod 0600 "$folder/key.pem"
    chmod 0755 "$folder"
    control data start || fail
    echo "$folder/certificate.pem"
    read -r line || true
    """

  private static func start() throws -> PostgresServer? {
    guard let programs else { throw Failure("PostgreSQL is not installed") }
    let port = try freePort()
    let keeper = try ServerKeeper(
      script,
      [
        "postgres-keeper", programs, String(port),
        "\(roleWithPassword),\(roleWithChangingPassword)",
      ])
    guard let path = keeper.nextLine(), path.hasPrefix("/") else { return nil }
    return PostgresServer(port: port, certificate: path, keeper: keeper)
  }

  static func freePort() throws -> Int {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutableBytes(of: &address) { bytes in
      guard let start = bytes.baseAddress else { return false }
      let place = start.assumingMemoryBound(to: sockaddr.self)
      return bind(listener, place, length) == 0 && getsockname(listener, place, &length) == 0
    }
    guard isBound else { throw Failure("no port is free") }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  /// Why there is no server.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
  }
}
#endif
