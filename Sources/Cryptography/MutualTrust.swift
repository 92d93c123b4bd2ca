import COpenSSL

/// Whether peers believe each other that trust the same authorities, and show certificates in both
/// directions.
package enum MutualTrust {
  /// A use of a certificate (RFC 5280 section 4.2.1.12).
  private enum Purpose: CaseIterable {
    case server, client

    var code: Int32 {
      switch self {
      case .server: X509_PURPOSE_SSL_SERVER
      case .client: X509_PURPOSE_SSL_CLIENT
      }
    }

    var words: String {
      switch self {
      case .server: "as a server's (extendedKeyUsage serverAuth, if it has any)"
      case .client: "as a client's (extendedKeyUsage clientAuth, if it has any)"
      }
    }
  }

  /// What keeps peers from believing a certificate; nil if nothing does.
  ///
  /// Its end is looked at elsewhere.
  ///
  /// - Parameters:
  ///   - path: Its file, with those that lead to its root behind it.
  ///   - authorities: The file of those that the peers trust.
  ///   - host: The name or address under which peers reach whoever has it.
  /// - Returns: A sentence without its subject.
  /// - Throws: ``TLSLoadError`` if a file cannot be read.
  package static func fault(
    of path: String, trusting authorities: String, as host: String
  ) throws(TLSLoadError) -> String? {
    let chain = try PEMFile(reading: path).certificates()
    let trusted = try PEMFile(reading: authorities).certificates()
    for purpose in Purpose.allCases {
      if let reason = refusal(of: chain, by: trusted, purpose) {
        return "is not believed \(purpose.words) by those who trust \(authorities): \(reason)"
      }
    }
    guard !names(chain[0], host) else { return nil }
    return "does not name \(host), under which others reach it (subjectAltName)"
  }

  private static func names(_ certificate: Certificate, _ host: String) -> Bool {
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    return X509_check_ip_asc(certificate.pointer, bare, 0) == 1
      || X509_check_host(certificate.pointer, bare, bare.utf8.count, 0, nil) == 1
  }

  private static func refusal(
    of chain: [Certificate], by trusted: [Certificate], _ purpose: Purpose
  ) -> String? {
    guard let store = X509_STORE_new(), let verification = X509_STORE_CTX_new(),
      let others = waystation_certificates_new()
    else { preconditionFailure("X509_STORE_new: \(OpenSSLErrors.takeReason())") }
    defer {
      X509_STORE_CTX_free(verification)
      X509_STORE_free(store)
      waystation_certificates_free(others)
      OpenSSLErrors.clear()
    }
    for authority in trusted { X509_STORE_add_cert(store, authority.pointer) }
    for certificate in chain.dropFirst() {
      _ = waystation_certificates_push(others, certificate.pointer)
    }
    guard X509_STORE_CTX_init(verification, store, chain[0].pointer, others) == 1 else {
      return OpenSSLErrors.takeReason()
    }
    X509_STORE_CTX_set_purpose(verification, purpose.code)
    X509_STORE_CTX_set_flags(
      verification, UInt(X509_V_FLAG_NO_CHECK_TIME) | UInt(X509_V_FLAG_PARTIAL_CHAIN))
    if X509_verify_cert(verification) == 1 { return nil }
    let code = X509_STORE_CTX_get_error(verification)
    return X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)"
  }
}
