import Foundation

/// An upstream that speaks TLS and answers each GET with 200: openssl's own server.
final class SecureUpstream: Sendable {
  private let process: ChildProcess

  /// Starts it on a port, and waits until it listens.
  ///
  /// - Parameter more: Further options of `openssl s_server`.
  init(port: UInt16, _ pair: CertificateAuthority.Pair, more: [String] = []) async throws {
    process = try ChildProcess(
      "openssl",
      [
        "s_server", "-accept", "127.0.0.1:\(port)", "-www", "-naccept", "1000", "-cert",
        pair.certificate, "-key", pair.key,
      ] + more)
    try await process.output(holds: "ACCEPT")
  }

  /// Ends it, and waits until its port is free.
  func stop() async throws {
    process.signal(SIGKILL)
    try await process.ending()
  }
}
