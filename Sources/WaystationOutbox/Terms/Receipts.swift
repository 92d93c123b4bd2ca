/// What a relay has signed: up to where it has a lane, and what it was given.
///
/// It was verified when it came, and proves that without the relay (`docs/receipts.md`).
public struct Receipt: Sendable, Equatable {
  /// The lane.
  public let lane: Lane
  /// The first number that the relay's chain of the lane has.
  public let begin: UInt64
  /// The first number that this device has compared with what it had sent.
  ///
  /// It is ``begin``, unless the chain had begun before this device knew of it. Once the relay has
  /// contradicted itself it is above ``last``, until the next receipt.
  public let checkedFrom: UInt64
  /// The last number that the receipt speaks of.
  public let last: UInt64
  /// The chain's link of ``last``.
  public let link: [UInt8]
  /// When the relay says that it took it.
  public let at: Instant
  /// It as the relay has given it, for others to verify, as `examples/receipt.py` does.
  public let json: String
}

/// Why a lane's receipts are not what they have to be.
public enum CustodyFault: Error, Sendable, Equatable {
  /// It is no receipt of this device's lane, or not one of the kind that is known.
  case unreadable
  /// Nobody who is trusted has signed this key.
  case unknownKey(KeyID)
  /// The key has not signed it.
  case badSignature
  /// The lane's head, or a page of its ledger, is not under the root that was signed.
  case badPath
  /// The relay has signed that it was given something else than this device has sent: these are the
  /// links of the last number.
  case headDiffers(ours: [UInt8], theirs: [UInt8])
  /// The relay had signed for more than it says to have now: it came back from an older backup.
  case relayBehind(receipted: UInt64, relay: UInt64)
  /// The relay's chain of the lane has begun anew, and speaks of no number below `begin`.
  ///
  /// Its receipts were off for a while, the lane was made an evidence lane or is none any more, or
  /// the relay came back from an older backup (`docs/receipts.md`). `receipted` is the last number
  /// of the chain before.
  case begunAnew(receipted: UInt64, begin: UInt64)
  /// The relay has signed two histories: two receipts that it gave cannot both be of one store.
  case forked(group: Int64)
  /// The relay keeps no ledger of a lane whose ends it has to sign.
  case noLedger
  /// The relay has said that the item of this number has ended, and its ledger has no row of it.
  case notInLedger(UInt64)
  /// The ledger has something else under this number than this device has sent.
  case ledgerDiffers(UInt64)
  /// What was sent under this number cannot be read any more, so that the ledger's row cannot be
  /// compared with it.
  case bodyUnreadable(UInt64)
  /// The relay has said that the item of this key has ended, and not under which number.
  case noNumber(key: String)
}

/// The name of a relay's key: its thumbprint (RFC 7638), as `kid` has it.
public struct KeyID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The thumbprint.
  public let thumbprint: String

  /// The key of this name.
  public init(_ thumbprint: String) { self.thumbprint = thumbprint }

  /// The key of this name.
  public init(stringLiteral thumbprint: String) { self.thumbprint = thumbprint }

  /// The thumbprint.
  public var description: String { thumbprint }
}

/// The cryptography that receipts need: the outbox has none of its own.
public protocol ReceiptVerifier: Sendable {
  /// Whether a key has signed a message, by Ed25519 (RFC 8032).
  ///
  /// - Parameter key: The public key's 32 bytes.
  func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool

  /// The SHA-256 of some bytes: 32 bytes.
  func digest(_ bytes: [UInt8]) -> [UInt8]

  /// The SHA-256 of a file, such as a large body; nil if it cannot be read.
  ///
  /// Without one of your own the whole file is read into memory.
  func digest(ofFile path: String) -> [UInt8]?
}

extension ReceiptVerifier {
  /// The SHA-256 of a file, read as a whole.
  public func digest(ofFile path: String) -> [UInt8]? {
    (try? Platform.read(path)).map(digest)
  }
}
