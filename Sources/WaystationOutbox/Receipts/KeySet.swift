import JSON
import RelayCore

/// One key of the relay, as it publishes it.
struct PublishedKey: Sendable {
  let id: String
  /// Its 32 bytes, as they were written and read.
  let text: String
  let bytes: [UInt8]
  /// What the key before it says of this one; nil for the first.
  let endorsement: SignedText?

  /// Whether this key's predecessor has named it.
  func isEndorsed(by key: [UInt8], named id: String, _ verifier: any ReceiptVerifier) -> Bool {
    guard let endorsement, endorsement.keyID == id,
      verifier.verify(endorsement.signature, of: endorsement.message, by: key),
      let said = try? JSONValue.parse(endorsement.payload).object()
    else { return false }
    return (try? said["x"]?.string()) == text && said["kty"]?.equals("OKP") == true
      && said["crv"]?.equals("Ed25519") == true
  }
}

/// The relay's keys, the oldest first: `GET /.well-known/waystation/keys` (RFC 7517).
enum KeySet {
  /// The path at the relay.
  static let path = "/.well-known/waystation/keys"

  /// Reads an answer; nil if it is none.
  ///
  /// Keys of other kinds are passed over, and those that have not the name that they should have.
  static func keys(_ body: [UInt8], _ verifier: any ReceiptVerifier) -> [PublishedKey]? {
    guard let object = try? JSONValue.parse(body).object(), let list = try? object["keys"]?.array()
    else { return nil }
    return list.compactMap { element in
      guard let key = try? element.object(), key["kty"]?.equals("OKP") == true,
        key["crv"]?.equals("Ed25519") == true, let text = try? key["x"]?.string(),
        let bytes = Base64URL.decode(text), bytes.count == 32,
        let id = try? key["kid"]?.string(), id == thumbprint(of: text, verifier)
      else { return nil }
      let endorsement = (try? key["endorsement"]?.string()).flatMap {
        SignedText($0, type: "waystation-key+jws")
      }
      return PublishedKey(id: id, text: text, bytes: bytes, endorsement: endorsement)
    }
  }

  /// The name of a key (RFC 7638 section 3, RFC 8037 appendix A.3).
  private static func thumbprint(of text: String, _ verifier: any ReceiptVerifier) -> String {
    let members = #"{"crv":"Ed25519","kty":"OKP","x":""# + text + #""}"#
    return Base64URL.encode(verifier.digest(Array(members.utf8)))
  }
}
