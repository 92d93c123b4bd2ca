import JSON
import RelayServer
import WaystationOutbox

/// The relay's keys that an auditor trusts: one of them, and those that it leads to.
struct TrustedKeys {
  private let keys: [String: RingKey]
  /// The names of all keys of the file.
  private let names: Set<String>
  private let path: String

  /// Reads the relay's keys.
  ///
  /// - Parameter pin: The name of the key that is trusted; nil for the first one.
  init(reading path: String, pin: String?) throws(AuditTrouble) {
    let bytes = try AuditFile.read(path)
    guard let document = try? JSONValue.parse(bytes), (try? document["keys"]?.array()) != nil else {
      throw .unreadable("\(path) is no answer of /.well-known/waystation/keys")
    }
    let ring: KeyRing
    do throws(KeyRing.Damage) { ring = try KeyRing(parsing: bytes) } catch {
      throw .unproven(.keys, "the file \(error.reason)")
    }
    let first = pin ?? ring.keys[0].id
    guard let trusted = ring.keys(from: first) else {
      throw .unproven(.keys, "\(first) is none of them")
    }
    self.path = path
    names = Set(ring.keys.map(\.id))
    keys = Dictionary(uniqueKeysWithValues: trusted.map { ($0.id, $0) })
  }

  /// Verifies a signed text.
  ///
  /// - Returns: Why it is not to be trusted; nil if it is.
  func fault(of text: SignedText) -> String? {
    guard let key = keys[text.keyID] else {
      return names.contains(text.keyID)
        ? "it is signed by the key \(text.keyID), which was made before the one that is pinned"
        : "it is signed by the key \(text.keyID), which \(path) does not have: if the relay has"
          + " made new keys since, fetch /.well-known/waystation/keys again"
    }
    return key.verifies(text.signature, of: text.message)
      ? nil : "the signature is not one of the key \(text.keyID)"
  }
}
