import COpenSSL
import Glibc

/// The parts of a certificate that people are shown.
package struct CertificateFacts: Sendable, Equatable {
  /// The subject: the common name, else the first alternative name, else `(no name)`.
  package let name: String
  /// The beginning of its validity, in seconds since the Unix epoch.
  package let validFromSeconds: Int64
  /// The end of its validity, in seconds since the Unix epoch.
  package let validUntilSeconds: Int64
}

// Sound: a certificate does not change once it was read, and its references are counted atomically
// (openssl-threads(7)).
/// A certificate as read by OpenSSL (RFC 5280).
final class Certificate: @unchecked Sendable {
  let pointer: OpaquePointer

  init(adopting pointer: OpaquePointer) { self.pointer = pointer }

  deinit { X509_free(pointer) }

  var facts: CertificateFacts {
    let names = alternativeNames()
    return CertificateFacts(
      name: commonName ?? names.dns.first ?? names.uris.first ?? names.emails.first ?? "(no name)",
      validFromSeconds: seconds(X509_get0_notBefore(pointer)),
      validUntilSeconds: seconds(X509_get0_notAfter(pointer)))
  }

  /// The identity of a client, once the certificate has been verified.
  func peer(validUntilSeconds: Int64) -> PeerCertificate {
    let names = alternativeNames()
    return PeerCertificate(
      commonName: commonName, dnsNames: names.dns, uris: names.uris, emails: names.emails,
      fingerprint: fingerprint, validUntilSeconds: validUntilSeconds)
  }

  /// The time until which all certificates of a list are valid, in seconds since the Unix epoch.
  static func validUntilSeconds(_ certificates: OpaquePointer?) -> Int64 {
    (0..<waystation_certificate_count(certificates)).map {
      seconds(X509_get0_notAfter(waystation_certificate_at(certificates, $0)))
    }.min() ?? .max
  }

  /// The subject's common name; nil if it has none or several, of which none would be *the* name.
  private var commonName: String? {
    let subject = X509_get_subject_name(pointer)
    let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
    guard index >= 0, X509_NAME_get_index_by_NID(subject, NID_commonName, index) < 0,
      let text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index))
    else { return nil }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = ASN1_STRING_to_UTF8(&bytes, text)
    guard count > 0, let bytes else { return nil }
    defer { waystation_openssl_free(bytes) }
    return Self.text(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }

  private func alternativeNames() -> (dns: [String], uris: [String], emails: [String]) {
    var found: (dns: [String], uris: [String], emails: [String]) = ([], [], [])
    guard let names = waystation_alternative_names(pointer) else { return found }
    defer { waystation_names_free(names) }
    for index in 0..<waystation_name_count(names) {
      var kind: Int32 = 0
      guard let name = waystation_name_at(names, index, &kind),
        let text = Self.text(
          UnsafeBufferPointer(
            start: ASN1_STRING_get0_data(name), count: Int(ASN1_STRING_length(name))))
      else { continue }
      switch kind {
      case GEN_DNS: found.dns.append(text)
      case GEN_URI: found.uris.append(text)
      default: found.emails.append(text)
      }
    }
    return found
  }

  /// A name's text; nil if it holds a control character, since a NUL has been used to make one name
  /// look like another.
  private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
    guard !bytes.isEmpty, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  private var fingerprint: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: SHA256.digestBytes) { bytes, count in
      let status = X509_digest(pointer, EVP_sha256(), bytes.baseAddress, nil)
      precondition(status == 1, "X509_digest failed")
      count = SHA256.digestBytes
    }
  }
}

/// A list of certificates that an authority has revoked (RFC 5280 section 5).
final class RevocationList {
  let pointer: OpaquePointer

  init(adopting pointer: OpaquePointer) { self.pointer = pointer }

  deinit { X509_CRL_free(pointer) }

  /// The time by which a new list is due, in seconds since the Unix epoch; nil if the list has
  /// none.
  var dueSeconds: Int64? { X509_CRL_get0_nextUpdate(pointer).map { seconds($0) } }
}

private func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
  var parts = tm()
  // A date that cannot be read counts as the epoch, so that nobody relies on its being ahead.
  guard ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
  return Int64(timegm(&parts))
}
