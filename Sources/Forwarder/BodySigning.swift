import Cryptography
import RelayCore

/// The signatures of one request's body in the making, to which it is added piece by piece.
struct BodySigning: ~Copyable {
  private var webhook: WebhookSignatureInMaking?
  private var digest: SHA256?

  /// Begins what an upstream asks for; nil if it asks for nothing.
  init?(_ request: borrowing AttemptRequest, at time: WallTime) {
    let target = request.target
    guard target.signing != nil || target.awsSigning != nil else { return nil }
    if let signing = target.signing {
      webhook = WebhookSignatureInMaking(
        signing, id: request.webhookID, timestamp: time.millisecondsSinceEpoch / 1000)
    } else {
      webhook = nil
    }
    if target.awsSigning == nil { digest = nil } else { digest = SHA256() }
  }

  /// Adds the next piece of the body.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    webhook?.update(bytes)
    digest?.update(bytes)
  }

  /// The signatures of everything that was added.
  consuming func finish() -> BodySignatures {
    var signatures = BodySignatures()
    if let webhook = webhook.take() { signatures.webhook = webhook.finish() }
    if let digest = digest.take() { signatures.digest = AWSSigning.hex(digest.finish()) }
    return signatures
  }
}

/// What was made of a request's body for those who check it.
struct BodySignatures {
  /// The fields of Standard Webhooks; nil if requests are not signed so.
  var webhook: WebhookSignature?
  /// The SHA-256 digest in hexadecimal digits; nil if it is not asked for.
  var digest: String?
}
