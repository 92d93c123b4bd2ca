import JSON
import RelayServer
import WaystationOutbox

/// The keys of devices that an auditor trusts, and what they have signed.
struct DeviceKeys {
  /// What stands in the field of a request.
  struct Field {
    /// What is said, whoever has signed it; nil if it cannot be read.
    let statement: ItemStatement?
    /// Its hash, if one of the keys has signed it.
    let hash: [UInt8]?
  }

  private let keys: [String: DeviceKey]

  /// Reads a JSON Web Key, or a set of them.
  init(reading path: String) throws(AuditTrouble) {
    guard let document = try? JSONValue.parse(try AuditFile.read(path)) else {
      throw .unreadable("\(path) is no JSON")
    }
    let members = (try? document["keys"]?.array()).map { Array($0) } ?? [document]
    var found: [String: DeviceKey] = [:]
    for member in members {
      guard let object = try? member.object(), let key = DeviceKey(object) else {
        throw .unreadable("\(path) has what is no JSON Web Key of Ed25519 or P-256")
      }
      found[key.id] = key
    }
    keys = found
  }

  /// What the field of a request says, whoever has signed it; nil if it cannot be read.
  func statement(_ text: String) -> ItemStatement? {
    SignedText(text, type: ItemStatement.type, algorithms: Self.algorithms).flatMap {
      ItemStatement(payload: $0.payload)
    }
  }

  private static let algorithms: Set = ["EdDSA", "ES256"]

  /// Reads the field of a request.
  func field(_ text: String) -> Field {
    guard
      let signed = SignedText(text, type: ItemStatement.type, algorithms: Self.algorithms)
    else { return Field(statement: nil, hash: nil) }
    let key = keys[signed.keyID]
    let isSigned =
      key.map {
        $0.algorithm == signed.algorithm && $0.verifies(signed.signature, of: signed.message)
      } ?? false
    return Field(
      statement: ItemStatement(payload: signed.payload),
      hash: isSigned ? ReceiptDesk.hash(signed.payload) : nil)
  }
}
