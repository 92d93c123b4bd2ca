import Cryptography
import Forwarder
import RelayCore

extension UpstreamConfiguration {
  /// The forwarder's target for this upstream.
  ///
  /// - Parameters:
  ///   - files: What the files that it names held when they were read.
  ///   - pseudonym: The relay's name in `Via`.
  /// - Throws: If a configured header is one that the relay sets itself.
  /// - Precondition: The files were read: without its authorities, others would be believed.
  func target(
    _ files: UpstreamFiles = UpstreamFiles(), pseudonym: String = "waystation"
  ) throws(UpstreamTargetError) -> UpstreamTarget {
    precondition(
      (files.authorities == nil) == (certificateAuthorities == nil), "its files are read first")
    var fields = RelayCore.HeaderBlock()
    for header in headers { fields.append(name: header.name, value: header.value.value) }
    if let value = credentials?.authorization {
      fields.append(name: "Authorization", value: value.value)
    }
    return try UpstreamTarget(
      name: name, url: url, headers: fields, connectTimeoutMs: connectTimeoutMs,
      attemptTimeoutMs: attemptTimeoutMs, idleTimeoutMs: idleTimeoutMs, verification: verify,
      batch: batch.form(for: name),
      mayRepeat: ambiguous == .retry, offersHTTP2: http2,
      reusesConnections: reuseConnections,
      responseBodyBytesMax: responseBodyBytesMax, maxConcurrent: maxConcurrent,
      proxy: proxy?.url.value,
      certificates: .init(files.authorities),
      oldestVersion: minTLSVersion.version, identity: files.identity, viaPseudonym: pseudonym,
      signing: signing?.webhooks, awsSigning: credentials?.awsSigning,
      tokens: try tokenSource(files),
      credentials: CredentialMask(hiddenTexts))
  }
}
