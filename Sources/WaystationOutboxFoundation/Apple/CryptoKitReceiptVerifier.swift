#if canImport(CryptoKit)
import CryptoKit
import Foundation
import WaystationOutbox

/// Verifies a relay's receipts by CryptoKit.
public struct CryptoKitReceiptVerifier: ReceiptVerifier {
  /// The bytes of a file that are read at a time.
  private static let pieceBytes = 1 << 18

  /// The verifier.
  public init() {}

  /// Whether a key has signed a message, by Ed25519 (RFC 8032).
  public func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    let key = try? Curve25519.Signing.PublicKey(rawRepresentation: Data(key))
    return key?.isValidSignature(Data(signature), for: Data(message)) ?? false
  }

  /// The SHA-256 of some bytes.
  public func digest(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: Data(bytes))) }

  /// The SHA-256 of a file, of which a piece at a time is read; nil if it cannot be read.
  public func digest(ofFile path: String) -> [UInt8]? {
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    defer { try? file.close() }
    var hash = SHA256()
    do {
      while let piece = try file.read(upToCount: Self.pieceBytes), !piece.isEmpty {
        hash.update(data: piece)
      }
    } catch {
      return nil
    }
    return Array(hash.finalize())
  }
}
#endif
