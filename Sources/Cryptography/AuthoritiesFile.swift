/// A PEM file of the authorities that may have signed a server's certificate.
///
/// It is read once, so that what was checked is what is used, whatever becomes of the file.
package struct AuthoritiesFile: Sendable, Hashable {
  /// The file's path.
  package let path: String
  /// What it held when it was read (PEM).
  package let bytes: [UInt8]

  /// Reads a file, and looks whether it holds at least one certificate.
  ///
  /// - Throws: ``TLSLoadError`` with the path and the reason.
  package init(reading path: String) throws(TLSLoadError) {
    let file = try PEMFile(reading: path)
    try file.checkAuthorities()
    self.path = path
    bytes = file.bytes
  }
}
