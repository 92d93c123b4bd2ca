import Cryptography
import Forwarder
import RelayCore

extension UpstreamConfiguration {
  /// The forwarder's target for this upstream.
  ///
  /// - Parameters:
  ///   - files: What the files that it names hold.
  ///   - pseudonym: The relay's name in `Via`.
  /// - Throws: If a configured header is one that the relay sets itself.
  func target(
    _ files: UpstreamFiles = UpstreamFiles(), pseudonym: String = "waystation"
  ) throws(UpstreamTargetError) -> UpstreamTarget {
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
      certificates: certificateAuthorities.map { .file(path: $0) } ?? .system,
      oldestVersion: minTLSVersion.version, identity: files.identity, viaPseudonym: pseudonym,
      signing: signing?.webhooks, awsSigning: credentials?.awsSigning,
      tokens: try tokenSource(files),
      credentials: CredentialMask(hiddenTexts))
  }
}
