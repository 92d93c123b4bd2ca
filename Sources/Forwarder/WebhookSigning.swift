import Cryptography
import RelayCore

/// The signing of requests to an upstream: Standard Webhooks, symmetric
/// (https://github.com/standard-webhooks/standard-webhooks, scheme `v1`).
///
/// While a key is being replaced there are two, and each request carries both signatures, so that
/// the upstream may know either key.
package struct WebhookSigning: Sendable {
  let first: HMACKey
  let second: HMACKey?

  /// The common prefix of the field names: no sender's field with it is passed on.
  static let prefix: StaticString = "webhook-"

  /// The prefix of a written key, which is followed by the base64 of 24 to 64 bytes.
  package static let keyPrefix = "whsec_"
  /// The range of a key's length in bytes.
  package static let keyBytes = 24...64
  /// The most keys of an upstream at once.
  package static let keyCountMax = 2

  /// Takes one key or two.
  package init(_ first: [UInt8], _ second: [UInt8]? = nil) {
    self.first = HMACKey(first)
    self.second = second.map(HMACKey.init)
  }

  /// The signatures of a message, as in `webhook-signature`.
  package func signature(of body: [UInt8], id: String, timestamp: Int64) -> [UInt8] {
    var signature = WebhookSignatureInMaking(self, id: id, timestamp: timestamp)
    body.withUnsafeBytes { signature.update($0) }
    return signature.finish().signatures
  }

  /// The bytes of a written key; nil if it is not valid.
  ///
  /// The prefix may be left out, as in the standard's own libraries.
  package static func key(_ text: String) -> [UInt8]? {
    let encoded = text.hasPrefix(keyPrefix) ? text.dropFirst(keyPrefix.count) : text[...]
    guard let key = try? Base64.decode(encoded.utf8), keyBytes.contains(key.count) else {
      return nil
    }
    return key
  }
}

/// The signature fields of a request.
struct WebhookSignature {
  /// The message's id: the same for every attempt.
  let id: String
  /// The time when the attempt began, in seconds since 1970.
  let timestamp: Int64
  /// Each key's signature, separated by a blank.
  let signatures: [UInt8]
}

/// A signature in the making, to which the body is added piece by piece.
struct WebhookSignatureInMaking: ~Copyable {
  private let id: String
  private let timestamp: Int64
  private var first: HMACSHA256
  private var second: HMACSHA256?

  /// Begins with the text before the body: id and time, each followed by a dot.
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

  /// The signature of everything that was added.
  consuming func finish() -> WebhookSignature {
    var text = Array("v1,".utf8) + Base64.encode(first.finish())
    if let second { text += Array(" v1,".utf8) + Base64.encode(second.finish()) }
    return WebhookSignature(id: id, timestamp: timestamp, signatures: text)
  }
}

extension AttemptRequest {
  /// The id under which the upstream knows the message, however often it gets it.
  ///
  /// It has no dots, since those separate the signed parts. The question for an envelope is another
  /// message than the envelope.
  var webhookID: String {
    if isVerification { return "verify_\(id)" }
    return String(messageKey.map { $0 == "." ? "_" : $0 })
  }

  /// A replay under the key of what was sent before is that message again.
  private var messageKey: String {
    if let original = ReplayMark.original(of: content),
      let key = content.headers.first("Idempotency-Key")
    {
      return key.hasPrefix(original) ? key : original
    }
    return idempotencyKey ?? id.description
  }
}
