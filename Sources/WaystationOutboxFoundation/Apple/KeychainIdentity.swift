#if canImport(Security)
import Foundation
import Security
import WaystationOutbox

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A certificate of the key chain with its key, which a device shows.
enum KeychainIdentity {
  /// What is shown to a server that asks for a certificate; nil if it asks for something else, or
  /// nothing is to be shown.
  static func answer(
    to challenge: URLAuthenticationChallenge, _ identity: TLSIdentity?
  ) -> URLCredential? {
    let method = challenge.protectionSpace.authenticationMethod
    guard method == NSURLAuthenticationMethodClientCertificate,
      case .keychain(let label)? = identity
    else { return nil }
    return credential(label: label)
  }

  /// The credential of this label; nil if the key chain has none, or does not give it.
  static func credential(label: String) -> URLCredential? {
    let query: [String: Any] = [
      kSecClass as String: kSecClassIdentity, kSecAttrLabel as String: label,
      kSecReturnRef as String: true,
    ]
    var found: CFTypeRef?
    guard SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess, let found,
      CFGetTypeID(found) == SecIdentityGetTypeID()
    else { return nil }
    // The type was compared just now.
    let identity = unsafeDowncast(found, to: SecIdentity.self)
    return URLCredential(identity: identity, certificates: nil, persistence: .forSession)
  }
}
#endif
