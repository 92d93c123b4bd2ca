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

public enum P256 {
  public enum Signing {
    public struct PublicKey: Sendable {
      public var x963Representation: Data { Data() }
    }

    public struct ECDSASignature: Sendable {
      public var rawRepresentation: Data { Data() }
    }
  }
}

public enum SecureEnclave {
  public static var isAvailable: Bool { false }

  public enum P256 {
    public enum Signing {
      public struct PrivateKey: Sendable {
        public init(compactRepresentable: Bool = true) throws {}

        public init(dataRepresentation: Data) throws {}

        public var dataRepresentation: Data { Data() }

        public var publicKey: CryptoKit.P256.Signing.PublicKey {
          CryptoKit.P256.Signing.PublicKey()
        }

        public func signature<D: DataProtocol>(
          for data: D
        ) throws -> CryptoKit.P256.Signing.ECDSASignature {
          CryptoKit.P256.Signing.ECDSASignature()
        }
      }
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
