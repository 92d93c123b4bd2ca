import COpenSSL

/// A certificate and its key, by which a client shows a server who it is.
///
/// The files are read once, so that what was checked is what is used.
package struct ClientIdentity: Sendable, Equatable {
  /// The path of the certificate's file.
  package let path: String
  /// The path of the key's file.
  package let keyPath: String
  /// The certificate, with those that lead to its root behind it (PEM).
  package let certificate: [UInt8]
  /// Its key (PEM).
  package let key: [UInt8]
  /// The certificate's own facts.
  package let facts: CertificateFacts
  /// Whether users other than the key file's owner and group may read it.
  package let isKeyReadableByEveryone: Bool

  /// Reads the files, and checks that they fit together.
  ///
  /// It does not look at the clock: an expired certificate is loaded, and its ``facts`` say so.
  ///
  /// - Throws: The fault, and the file that has it.
  package init(certificate path: String, key keyPath: String) throws(TLSLoadError) {
    let chain = try PEMFile(reading: path)
    let certificates = try chain.certificates()
    let keyFile = try PEMFile(reading: keyPath)
    // Fails only when memory has run out, which nothing can mend.
    guard let context = SSL_CTX_new(TLS_client_method()) else {
      preconditionFailure("SSL_CTX_new: \(OpenSSLErrors.takeReason())")
    }
    defer { SSL_CTX_free(context) }
    try TLSContext.use(certificates, of: chain, in: context)
    try TLSContext.use(keyFile, with: chain, in: context)
    self.path = path
    self.keyPath = keyPath
    certificate = chain.bytes
    key = keyFile.bytes
    facts = certificates[0].facts
    isKeyReadableByEveryone = keyFile.isReadableByEveryone
  }
}
