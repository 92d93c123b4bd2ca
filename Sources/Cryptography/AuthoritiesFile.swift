/// A PEM file of the authorities that may have signed a server's certificate.
///
/// It is read by whoever makes the connection; here is only looked at whether that could work.
package enum AuthoritiesFile {
  /// Looks whether a file can be read now and holds at least one certificate.
  ///
  /// - Throws: ``TLSLoadError`` with the path and the reason.
  package static func check(_ path: String) throws(TLSLoadError) {
    try PEMFile(reading: path).checkAuthorities()
  }
}
