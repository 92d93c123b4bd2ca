import Forwarder

extension UpstreamTarget.CertificateAuthorities {
  /// Those that a file holds now.
  static func file(path: String) throws -> Self { try Self(reading: path) }
}
