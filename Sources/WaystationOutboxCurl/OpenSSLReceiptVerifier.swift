import Cryptography
import Glibc
import WaystationOutbox

/// Verifies a relay's receipts by OpenSSL.
public struct OpenSSLReceiptVerifier: ReceiptVerifier {
  /// The bytes of a file that are read at a time.
  private static let pieceBytes = 1 << 18

  /// The verifier.
  public init() { OpenSSLLibrary.keepUntilEnd() }

  /// Whether a key has signed a message, by Ed25519 (RFC 8032).
  public func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    Ed25519PublicKey(key)?.verifies(signature, of: message) ?? false
  }

  /// The SHA-256 of some bytes.
  public func digest(_ bytes: [UInt8]) -> [UInt8] { SHA256.digest(of: bytes) }

  /// The SHA-256 of a file, of which a piece at a time is read; nil if it cannot be read.
  public func digest(ofFile path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var hash = SHA256()
    var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
    while true {
      let count = read(file, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      guard count > 0 else { return hash.finish() }
      piece.withUnsafeBytes { hash.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }
}
