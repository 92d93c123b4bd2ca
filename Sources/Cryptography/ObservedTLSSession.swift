import COpenSSL

/// A view of a TLS session that another library drives.
///
/// It only calls OpenSSL functions that leave the session alone (they take a `const SSL *`):
/// nothing is read from the connection, and the session does not change.
package struct ObservedTLSSession {
  private let session: OpaquePointer

  /// Views a session, which has to stay alive meanwhile.
  ///
  /// - Parameter session: An `SSL *` of the library whose version is ``libraryVersion``.
  package init(_ session: UnsafeRawPointer) { self.session = OpaquePointer(session) }

  /// The version of the OpenSSL that this program has loaded, such as `3.0.19`.
  package static var libraryVersion: String {
    String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
  }

  /// Whether bytes were taken from the connection that nobody has read yet: SSL_has_pending(3).
  package var holdsUnreadBytes: Bool { SSL_has_pending(session) == 1 }

  /// Whether both sides have agreed on HTTP/2 (RFC 7301; RFC 9113 section 3.2).
  package var speaksHTTP2: Bool {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(session, &name, &count)
    return name.map { $0[0] == UInt8(ascii: "h") && count == 2 && $0[1] == UInt8(ascii: "2") }
      ?? false
  }
}
