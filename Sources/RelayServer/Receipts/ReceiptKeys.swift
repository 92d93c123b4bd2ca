import Cryptography
import RelayCore

/// The keys that a running relay signs with: the present one, and the public parts of all.
package struct ReceiptKeys: Sendable {
  /// All keys, for whoever verifies.
  package let ring: KeyRing
  /// The same as the relay shows them: a JSON Web Key Set.
  package let jwks: [UInt8]
  private let key: SigningKey
  /// Why devices may not know the ring; nil if they do.
  package internal(set) var strangeness: Strangeness?

  /// A ring that took the place of another one that it does not follow, until an operator has dealt
  /// with that.
  package struct Strangeness: Sendable, Equatable {
    /// The moment when it took that place.
    package var since: WallTime
    /// Whether the folder of the ring says so as well, for the next start.
    package var isRemembered = true
    /// The ring that devices know, if this process has had it in use.
    package var former: KeyRing?
  }

  /// Puts both together.
  ///
  /// - Precondition: The key is the ring's present one.
  init(_ ring: KeyRing, _ key: SigningKey) {
    precondition(key.ed25519 == ring.present.key, "the present key signs")
    self.ring = ring
    self.key = key
    jwks = ring.jwks
  }

  /// The ring with a new key, and how their folder is changed for it.
  func rotation(at now: WallTime) -> (ring: KeyRing, steps: [KeyFolderStep]) {
    KeyFolder.rotation(of: ring, from: key, to: .makeEd25519(), at: now)
  }

  /// The name of the key that signs.
  package var kid: String { ring.present.id }

  /// Signs a payload, as a JWS in its compact form (RFC 7515 section 3.1).
  ///
  /// The same payload always gets the same signature: Ed25519 takes no random numbers.
  ///
  /// - Parameter type: The type of the signed text (`typ`).
  package func sign(type: String, payload: [UInt8]) -> String {
    key.jws(type: type, kid: kid, payload: payload)
  }
}
