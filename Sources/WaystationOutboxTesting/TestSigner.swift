import Synchronization
import WaystationOutbox

/// A signer for an app's own tests: it can be locked, and tells what it has signed.
///
/// It is no cryptography: anybody can sign as it does.
public final class TestSigner: HeadSigner {
  private struct State {
    var failure: String?
    var signed: [[UInt8]] = []
  }

  private let key: TestKey
  private let state = Mutex(State())

  /// The signer of a number: each has a key of its own.
  public init(_ number: Int = 1) { key = TestKey(1000 + number) }

  /// The name of the key.
  public var keyID: KeyID { KeyID(key.id) }

  /// It says that it signs by Ed25519.
  public var algorithm: SignatureAlgorithm { .ed25519 }

  /// Signs a message, unless it is locked.
  public func sign(_ message: [UInt8]) async throws -> [UInt8] {
    try state.withLock { state in
      if let failure = state.failure { throw RecordedError(id: "locked", message: failure) }
      state.signed.append(message)
    }
    return signature(of: message)
  }

  /// The signature of a message.
  public func signature(of message: [UInt8]) -> [UInt8] {
    let half = key.sign(message)
    return half + TestSHA256.digest(half)
  }

  /// It signs nothing from now on.
  public func lock(_ reason: String = "the keychain is locked") {
    state.withLock { $0.failure = reason }
  }

  /// It signs again.
  public func unlock() { state.withLock { $0.failure = nil } }

  /// What it has signed, in that order.
  public var signed: [[UInt8]] { state.withLock { $0.signed } }
}
