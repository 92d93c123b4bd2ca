import Foundation

/// An authority that signs certificates with the `openssl` command, in a folder of its own.
final class CertificateAuthority: Sendable {
  /// A certificate and its key.
  struct Pair: Sendable {
    let certificate: String
    let key: String

    /// As a listener's `tls` has it.
    var listener: [String: any Sendable] { ["certificate": certificate, "key": key] }
  }

  /// A command of openssl's failed.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let folder: TemporaryFolder
  /// The authority's own certificate.
  var certificate: String { folder.path + "/authority.pem" }

  private static let settings = """
    [req]
    distinguished_name = names
    [names]
    [ca]
    default_ca = authority
    [authority]
    database = index.txt
    new_certs_dir = .
    serial = serial
    crlnumber = crlnumber
    default_md = sha256
    policy = anything
    copy_extensions = copy
    unique_subject = no
    certificate = authority.pem
    private_key = authority.key
    [anything]
    commonName = optional
    [extensions]
    basicConstraints = critical,CA:TRUE
    """

  init(name: String = "authority") async throws {
    folder = try TemporaryFolder()
    try folder.write("settings", Self.settings)
    try folder.write("index.txt", "")
    try folder.write("serial", "01")
    try folder.write("crlnumber", "01")
    try await openssl(
      ["req", "-x509", "-extensions", "extensions", "-days", "2", "-out", "authority.pem"]
        + Self.newKey("authority.key", subject: "/CN=\(name)"))
  }

  /// Signs a certificate.
  ///
  /// - Parameters:
  ///   - file: What its files are called.
  ///   - subject: The name, as in `/CN=truck-7`.
  ///   - names: Alternative names, as in `DNS:truck-7.example,URI:urn:truck:7`.
  ///   - years: Between which years it holds; between yesterday and tomorrow if absent.
  func sign(
    _ file: String, subject: String, names: String = "IP:127.0.0.1", years: (Int, Int)? = nil
  ) async throws -> Pair {
    try await openssl(
      ["req", "-addext", "subjectAltName=\(names)", "-out", "\(file).csr"]
        + Self.newKey("\(file).key", subject: subject))
    let dates =
      years.map {
        ["-startdate", "\($0.0)0101000000Z", "-enddate", "\($0.1)0101000000Z"]
      } ?? ["-days", "2"]
    try await openssl(
      ["ca", "-batch", "-notext", "-in", "\(file).csr", "-out", "\(file).pem"] + dates)
    return Pair(
      certificate: folder.path + "/\(file).pem", key: folder.path + "/\(file).key")
  }

  /// Revokes a certificate.
  func revoke(_ pair: Pair) async throws {
    try await openssl(["ca", "-revoke", pair.certificate])
  }

  /// Writes the list of what has been revoked, and returns its path.
  func revocations() async throws -> String {
    try await openssl(["ca", "-gencrl", "-crldays", "2", "-out", "revoked.pem"])
    return folder.path + "/revoked.pem"
  }

  private static func newKey(_ file: String, subject: String) -> [String] {
    [
      "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", file, "-subj",
      subject,
    ]
  }

  /// Runs one command in the folder: its settings name files without a path.
  private func openssl(_ arguments: [String]) async throws {
    var words = arguments
    words.insert(contentsOf: ["-config", "settings"], at: 1)
    let process = try ChildProcess(
      "sh", ["-c", "cd \"$1\" && shift && exec openssl \"$@\"", "sh", folder.path] + words)
    guard try await process.ending() == .exit(0) else {
      throw Failure(description: "openssl \(words.joined(separator: " ")): \(process.errors)")
    }
  }
}
