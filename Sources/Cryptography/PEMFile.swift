import COpenSSL
import Glibc
import RelayCore

/// The reason that a certificate, a key or a list could not be used: the file, and what to do about
/// it.
package struct TLSLoadError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file's path.
  package let path: String
  /// The fault and its remedy, as a sentence without its subject.
  package let reason: String

  /// The path and the reason.
  package var description: String { "\(path): \(reason)" }

  /// Puts the parts together.
  package init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }
}

/// A PEM file (RFC 7468), read whole, so that the checked content is the one used.
struct PEMFile {
  /// The size of the largest file: a bundle of all public authorities has some 250 KiB.
  static let bytesMax = 16 << 20

  let path: String
  let bytes: [UInt8]
  /// Whether users other than its owner and group may read it.
  let isReadableByEveryone: Bool

  init(reading path: String) throws(TLSLoadError) {
    self.path = path
    // A pipe would be waited for, also at a reload, on the thread that handles signals.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.unreadable(path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.unreadable(path) }
    let type = status.st_mode & S_IFMT
    guard type == S_IFREG || type == S_IFDIR else {
      throw TLSLoadError(path: path, reason: "is no regular file; name a file in PEM form")
    }
    isReadableByEveryone = status.st_mode & S_IROTH != 0
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(descriptor, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Self.unreadable(path) }
      if count == 0 { break }
      bytes += piece[..<count]
      guard bytes.count <= Self.bytesMax else {
        throw TLSLoadError(path: path, reason: "has more than \(Self.bytesMax) bytes")
      }
    }
    self.bytes = bytes
  }

  private static func unreadable(_ path: String) -> TLSLoadError {
    TLSLoadError(path: path, reason: "cannot be read: \(String(cString: strerror(errno)))")
  }

  func failure(_ reason: String) -> TLSLoadError { TLSLoadError(path: path, reason: reason) }

  /// The items that `next` finds in the file, one after the other, until it finds no more.
  private func all<Item>(_ next: (OpaquePointer) -> Item?) throws(TLSLoadError) -> [Item] {
    guard let bio = BIO_new_mem_buf(bytes, Int32(bytes.count)) else {
      throw failure("cannot be held: out of memory")
    }
    defer { BIO_free(bio) }
    OpenSSLErrors.clear()
    var items: [Item] = []
    while let item = next(bio) { items.append(item) }
    // The end of the file is reported as an error: no further block was found.
    guard OpenSSLErrors.reasonCode == PEM_R_NO_START_LINE else {
      throw failure("is damaged: \(OpenSSLErrors.takeReason())")
    }
    OpenSSLErrors.clear()
    return items
  }

  /// The certificates in it, at least one.
  func certificates() throws(TLSLoadError) -> [Certificate] {
    let found = try all { PEM_read_bio_X509($0, nil, nil, nil).map(Certificate.init(adopting:)) }
    guard !found.isEmpty else {
      throw failure("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
    }
    return found
  }

  /// Checks that it has a certificate that can be trusted as an authority's.
  ///
  /// OpenSSL's own form is one as well (-----BEGIN TRUSTED CERTIFICATE-----).
  func checkAuthorities() throws(TLSLoadError) {
    let found = try all {
      PEM_read_bio_X509_AUX($0, nil, nil, nil).map(Certificate.init(adopting:))
    }
    guard !found.isEmpty else {
      throw failure("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
    }
  }

  /// The lists of revoked certificates in it, at least one.
  func revocationLists() throws(TLSLoadError) -> [RevocationList] {
    let found = try all {
      PEM_read_bio_X509_CRL($0, nil, nil, nil).map(RevocationList.init(adopting:))
    }
    guard !found.isEmpty else {
      throw failure("holds no revocation list in PEM form (-----BEGIN X509 CRL-----)")
    }
    return found
  }

  /// The first private key in it, which is the caller's to free.
  func privateKey() throws(TLSLoadError) -> OpaquePointer {
    guard let bio = BIO_new_mem_buf(bytes, Int32(bytes.count)) else {
      throw failure("cannot be held: out of memory")
    }
    defer { BIO_free(bio) }
    OpenSSLErrors.clear()
    // Without a callback OpenSSL would ask for a passphrase on the terminal, and wait.
    if let key = PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil) { return key }
    let reason = OpenSSLErrors.takeReason()
    // The messages for these two cases differ between versions of OpenSSL.
    if !holds("PRIVATE KEY-----") {
      throw failure("holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)")
    }
    if holds("ENCRYPTED") {
      throw failure(
        "is protected by a passphrase, which nobody is there to type; remove it with"
          + " \"openssl pkey -in \(path) -out NEW\", and protect the file by its permissions")
    }
    throw failure("holds no private key that can be used: \(reason)")
  }

  private func holds(_ text: String) -> Bool {
    bytes.firstOccurrence(of: text.utf8) != nil
  }
}
