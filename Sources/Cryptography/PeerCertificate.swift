/// The identity in a client's certificate that has been verified.
package struct PeerCertificate: Sendable, Hashable {
  /// The subject's common name; nil if it has none.
  package let commonName: String?
  /// The DNS names among the alternative names (RFC 5280 section 4.2.1.6), in their order.
  package let dnsNames: [String]
  /// The URIs among them.
  package let uris: [String]
  /// The e-mail addresses among them.
  package let emails: [String]
  /// The SHA-256 digest of the whole certificate, 32 bytes.
  package let fingerprint: [UInt8]
  /// The end of the validity of the certificate and of those that vouch for it, in seconds since
  /// the Unix epoch.
  package let validUntilSeconds: Int64

  /// Puts the parts together.
  package init(
    commonName: String?, dnsNames: [String] = [], uris: [String] = [], emails: [String] = [],
    fingerprint: [UInt8], validUntilSeconds: Int64
  ) {
    self.commonName = commonName
    self.dnsNames = dnsNames
    self.uris = uris
    self.emails = emails
    self.fingerprint = fingerprint
    self.validUntilSeconds = validUntilSeconds
  }
}
