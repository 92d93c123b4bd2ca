import Cryptography
import RelayCore

/// One step of a change in a folder of keys; each is on disk before the next one begins.
///
/// A change is a list of steps, and what they leave is whole after any number of them: the old ring
/// can be used, or the new one.
enum KeyFolderStep: Equatable {
  /// Makes the draft of a file, without content.
  case draft(String)
  /// Writes a file by its draft, which takes its place at once.
  case write(String, [UInt8])
  /// Deletes a file.
  case remove(String)
}

extension KeyFolder {
  /// The file with the public parts of all keys.
  static let ringName = "ring.json"
  /// The file that is there while devices may not know the ring: it says since when.
  static let markName = "unknown-to-devices"

  /// The file of a private key.
  static func name(of key: RingKey) -> String { key.id + keyEnd }

  /// The name under which a file is written before it has its own.
  static func draft(of name: String) -> String { name + draftEnd }

  private static let keyEnd = ".pem"
  private static let draftEnd = ".part"

  /// Whether a name is that of a file that belongs to a ring: anything else is left alone.
  static func isOwn(_ name: String) -> Bool {
    let name = name.hasSuffix(draftEnd) ? name.dropLast(draftEnd.count) : name[...]
    guard name != ringName, name != markName else { return true }
    return name.hasSuffix(keyEnd)
      && Base64URL.decode(name.dropLast(keyEnd.count))?.count == SHA256.digestBytes
  }

  /// The first ring, and how it is made.
  ///
  /// The ring's draft is there from the beginning: it tells a folder whose first ring was cut off
  /// from one that has lost its ring. No ring is there without its mark.
  ///
  /// - Parameter isStrange: Whether devices know another ring.
  static func beginning(
    with key: SigningKey, at now: WallTime, isStrange: Bool = false
  ) -> (ring: KeyRing, steps: [KeyFolderStep]) {
    let ring = KeyRing(first: publicKey(of: key), at: now)
    return (
      ring,
      [.draft(ringName)] + (isStrange ? [marking(since: now)] : []) + [
        .write(name(of: ring.present), key.pem), .write(ringName, ring.jwks),
      ]
    )
  }

  /// How it is noted that devices may not know the ring.
  static func marking(since time: WallTime) -> KeyFolderStep {
    .write(markName, Array("\(RFC3339.format(time))\n".utf8))
  }

  /// A ring with a new key, and how the folder is changed: the new private key is there before the
  /// ring that needs it, and the old one goes after that.
  static func rotation(
    of ring: KeyRing, from old: SigningKey, to new: SigningKey, at now: WallTime
  ) -> (ring: KeyRing, steps: [KeyFolderStep]) {
    let next = ring.rotated(from: old, to: publicKey(of: new), at: now)
    return (
      next,
      [
        .write(name(of: next.present), new.pem), .write(ringName, next.jwks),
        .remove(name(of: ring.present)),
      ]
    )
  }

  /// What a change that was cut off has left in a folder, next to a ring; nil stands for no ring.
  static func leftovers(_ names: [String], beside ring: KeyRing?) -> [KeyFolderStep] {
    let kept = Set([ringName] + (ring.map { [name(of: $0.present), markName] } ?? []))
    return names.filter { isOwn($0) && !kept.contains($0) }.sorted().map { .remove($0) }
  }

  private static func publicKey(of key: SigningKey) -> Ed25519PublicKey {
    guard let publicKey = key.ed25519 else { preconditionFailure("keys of a ring are Ed25519") }
    return publicKey
  }
}
