import Cryptography
import RelayCore

/// How requests to an upstream are signed: Standard Webhooks, symmetric
/// (https://github.com/standard-webhooks/standard-webhooks, scheme `v1`).
///
/// While a key is being replaced there are two, and each request carries both signatures, so that
/// the upstream may know either.
package struct WebhookSigning: Sendable {
  let first: HMACKey
  let second: HMACKey?

  /// The field names' common beginning: no sender's field of such a name goes on beside the relay's
  /// own.
  static let prefix: StaticString = "webhook-"

  /// How a key is written: `whsec_` and the base64 of 24 to 64 bytes.
  package static let keyPrefix = "whsec_"
  /// How many bytes a key may have.
  package static let keyBytes = 24...64
  /// How many keys an upstream may have at once.
  package static let keyCountMax = 2

  /// Takes one key, or two.
  package init(_ first: [UInt8], _ second: [UInt8]? = nil) {
    self.first = HMACKey(first)
    self.second = second.map(HMACKey.init)
  }

  /// The signature of a message, as `webhook-signature` has it.
  package func signature(of body: [UInt8], id: String, timestamp: Int64) -> [UInt8] {
    var signature = WebhookSignatureInMaking(self, id: id, timestamp: timestamp)
    body.withUnsafeBytes { signature.update($0) }
    return signature.finish().signatures
  }

  /// The bytes of a key as it is written; nil if it is none.
  ///
  /// The prefix may be left out, as the standard's own libraries have it.
  package static func key(_ text: String) -> [UInt8]? {
    let encoded = text.hasPrefix(keyPrefix) ? text.dropFirst(keyPrefix.count) : text[...]
    guard let key = try? Base64.decode(encoded.utf8), keyBytes.contains(key.count) else {
      return nil
    }
    return key
  }
}

/// What a signed request says of itself.
struct WebhookSignature {
  /// The message's id: the same for every attempt.
  let id: String
  /// When the attempt began, in seconds since 1970.
  let timestamp: Int64
  /// Each key's signature, with a blank between them.
  let signatures: [UInt8]
}

/// A signature that is being made, piece by piece, as its body is gone through.
struct WebhookSignatureInMaking: ~Copyable {
  private let id: String
  private let timestamp: Int64
  private var first: HMACSHA256
  private var second: HMACSHA256?

  /// Begins with what stands before the body: id and time, each with a dot behind it.
  init(_ signing: WebhookSigning, id: String, timestamp: Int64) {
    self.id = id
    self.timestamp = timestamp
    first = HMACSHA256(key: signing.first)
    if let key = signing.second { second = HMACSHA256(key: key) } else { second = nil }
    let beginning = Array("\(id).\(timestamp).".utf8)
    beginning.withUnsafeBytes { update($0) }
  }

  /// Adds the next piece of the body.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    first.update(bytes)
    second?.update(bytes)
  }

  /// The signature of all that was added.
  consuming func finish() -> WebhookSignature {
    var text = Array("v1,".utf8) + Base64.encode(first.finish())
    if let second { text += Array(" v1,".utf8) + Base64.encode(second.finish()) }
    return WebhookSignature(id: id, timestamp: timestamp, signatures: text)
  }
}

extension AttemptRequest {
  /// The id under which the upstream knows the message, however often it gets it.
  ///
  /// Without dots, since those separate what is signed. A question for an envelope is another
  /// message than the envelope.
  var webhookID: String {
    if isVerification { return "verify_\(id)" }
    let key = idempotencyKey ?? id.description
    return String(key.map { $0 == "." ? "_" : $0 })
  }
}
