import Foundation

/// An authority of the test's own, and certificates that it signs; its files go away with it.
final class CertificateAuthority: Sendable {
  /// The `openssl` command; nil if it is not installed.
  static let openssl = ChildProcess.program("openssl")

  private let folder: TemporaryFolder
  /// The authority's certificate.
  var path: String { folder.path + "/ca.pem" }

  init() async throws {
    folder = try TemporaryFolder()
    try await run(
      ["req", "-x509", "-days", "2", "-subj", "/CN=authority", "-out", path], key: "ca")
  }

  /// A certificate, and its key.
  struct Certificate: Sendable {
    let certificate: String
    let key: String
  }

  /// Signs a certificate for a name or an address, such as `DNS:x.example`.
  ///
  /// - Parameter days: For how long from now; below 0 for one that has expired.
  func certificate(_ name: String, alternative: String, days: Int = 2) async throws -> Certificate {
    let file = "\(folder.path)/\(name)"
    try await run(
      [
        "req", "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(alternative)", "-out",
        "\(file).csr",
      ], key: name)
    try await Self.openssl([
      "x509", "-req", "-in", "\(file).csr", "-CA", path, "-CAkey", "\(folder.path)/ca.key",
      "-CAcreateserial", "-copy_extensions", "copy", "-days", "\(days)", "-out", "\(file).pem",
    ])
    return Certificate(certificate: "\(file).pem", key: "\(file).key")
  }

  private func run(_ arguments: [String], key: String) async throws {
    try await Self.openssl(
      arguments + [
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
        "\(folder.path)/\(key).key",
      ])
  }

  private static func openssl(_ arguments: [String]) async throws {
    let process = try ChildProcess(openssl ?? "openssl", arguments)
    guard try await process.ending() == .exit(0) else {
      throw StartFailure(description: process.errors)
    }
  }
}

/// An upstream that speaks TLS and answers each GET with 200: openssl's own server.
final class SecureUpstream: Sendable {
  private let process: ChildProcess

  /// Starts it on a port, and waits until it listens.
  init(port: UInt16, _ certificate: CertificateAuthority.Certificate) async throws {
    process = try ChildProcess(
      CertificateAuthority.openssl ?? "openssl",
      [
        "s_server", "-accept", "127.0.0.1:\(port)", "-www", "-naccept", "1000", "-cert",
        certificate.certificate, "-key", certificate.key,
      ])
    try await process.output(holds: "ACCEPT")
  }

  /// Ends it, and waits until its port is free.
  func stop() async throws {
    process.signal(SIGKILL)
    try await process.ending()
  }
}
