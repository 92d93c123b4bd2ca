import COpenSSL

/// OpenSSL as a whole.
package enum OpenSSLLibrary {
  /// Has the library stay whole until the process is gone.
  ///
  /// By itself it cleans up as soon as the process begins to end, under threads that are still in
  /// it. It has to come before any other call of the library: OPENSSL_init_crypto(3).
  package static func keepUntilEnd() { _ = isKept }

  private static let isKept = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
