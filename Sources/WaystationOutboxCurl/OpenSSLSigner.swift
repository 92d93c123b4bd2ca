import Cryptography
import RelayCore
import WaystationOutbox

/// Signs with a private key in a file, by OpenSSL.
///
/// `openssl genpkey -algorithm ed25519 -out FILE` makes one, and
/// `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE` another. Let nobody
/// else read the file (`umask 077`).
public struct OpenSSLSigner: HeadSigner {
  /// Why a file has no key to sign with; in words, with what to do.
  public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The words.
    public let description: String
  }

  private static let kinds = "Ed25519 or P-256"

  private let key: SigningKey
  /// The name of the key.
  public let keyID: KeyID
  /// How it signs.
  public let algorithm: SignatureAlgorithm
  /// The public key as a JSON Web Key with its name (RFC 7517), for whoever verifies.
  public let publicKey: String

  /// Reads a private key: PEM, without a passphrase, of Ed25519 or P-256.
  ///
  /// - Throws: ``Fault``.
  public init(reading path: String) throws(Fault) {
    OpenSSLLibrary.keepUntilEnd()
    do throws(TLSLoadError) { key = try SigningKey(reading: path, use: Self.kinds) } catch {
      throw Fault(description: error.description)
    }
    let members: [UInt8]
    if let ed25519 = key.ed25519 {
      (keyID, algorithm, members) = (KeyID(ed25519.thumbprint), .ed25519, ed25519.jwk)
    } else if let p256 = key.p256 {
      (keyID, algorithm, members) = (KeyID(p256.thumbprint), .p256, p256.jwk)
    } else {
      throw Fault(
        description: "\(path) holds a key of a kind that signs nothing here; use \(Self.kinds)")
    }
    publicKey = JWKText.text(members, keyID: keyID, algorithm)
  }

  /// The signature of a message.
  public func sign(_ message: [UInt8]) async throws -> [UInt8] { key.sign(message) }
}
