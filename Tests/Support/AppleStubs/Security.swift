// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What the library uses of Security, and of Foundation for it, without any content:
// scripts/check-snippets compiles against it.
import FoundationNetworking

public typealias CFString = String
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject
public typealias CFTypeID = UInt
public typealias OSStatus = Int32

public final class SecIdentity: Sendable {}

public let kSecClass: CFString = ""
public let kSecClassIdentity: CFString = ""
public let kSecAttrLabel: CFString = ""
public let kSecReturnRef: CFString = ""
public let errSecSuccess: OSStatus = 0

public func SecItemCopyMatching(
  _ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?
) -> OSStatus { errSecSuccess }

public func CFGetTypeID(_ object: CFTypeRef?) -> CFTypeID { 0 }

public func SecIdentityGetTypeID() -> CFTypeID { 0 }

// That of Linux is marked as unavailable.
public let NSURLAuthenticationMethodClientCertificate = ""

extension URLCredential {
  public convenience init(
    identity: SecIdentity, certificates: [Any]?, persistence: URLCredential.Persistence
  ) {
    self.init(user: "", password: "", persistence: persistence)
  }
}
