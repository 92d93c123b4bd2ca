// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// What the library uses of CryptoKit, without any content: scripts/check-snippets compiles
// against it.
import Foundation

public enum Curve25519 {
  public enum Signing {
    public struct PublicKey: Sendable {
      public init<D: ContiguousBytes>(rawRepresentation: D) throws {}

      public func isValidSignature<S: DataProtocol, D: DataProtocol>(
        _ signature: S, for data: D
      ) -> Bool { false }
    }
  }
}

public struct SHA256Digest: Sequence, Sendable {
  public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public struct SHA256: Sendable {
  public init() {}

  public static func hash<D: DataProtocol>(data: D) -> SHA256Digest { SHA256Digest() }

  public mutating func update<D: DataProtocol>(data: D) {}

  public func finalize() -> SHA256Digest { SHA256Digest() }
}
