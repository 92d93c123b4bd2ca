import COpenSSL
import RelayCore

/// A public key of ECDSA with P-256 (RFC 7518 section 3.4), as its point.
package struct P256PublicKey: Sendable, Hashable {
  /// The length of a coordinate in bytes; a signature has two such numbers.
  package static let coordinateBytes = 32

  /// The point's first coordinate.
  package let x: [UInt8]
  /// The point's second coordinate.
  package let y: [UInt8]

  /// What stands before the coordinates in a SubjectPublicKeyInfo (RFC 5480 section 2).
  private static let prefix: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
    0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// Takes a point; nil unless its coordinates are as long as they have to be.
  ///
  /// One that is not on the curve verifies nothing.
  package init?(x: [UInt8], y: [UInt8]) {
    guard x.count == Self.coordinateBytes, y.count == Self.coordinateBytes else { return nil }
    self.x = x
    self.y = y
  }

  /// The point of a key of OpenSSL.
  init?(of key: OpaquePointer) {
    func coordinate(_ name: String) -> [UInt8]? {
      var number: OpaquePointer?
      guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else { return nil }
      defer { BN_free(number) }
      var bytes = [UInt8](repeating: 0, count: Self.coordinateBytes)
      let count = BN_bn2binpad(number, &bytes, Int32(bytes.count))
      return count == Int32(bytes.count) ? bytes : nil
    }
    defer { OpenSSLErrors.clear() }
    guard let x = coordinate(OSSL_PKEY_PARAM_EC_PUB_X), let y = coordinate(OSSL_PKEY_PARAM_EC_PUB_Y)
    else { return nil }
    self.init(x: x, y: y)
  }

  /// The key as a JSON Web Key, with the members of its kind alone (RFC 7518 section 6.2).
  ///
  /// It has the form that is digested for its ``thumbprint``.
  package var jwk: [UInt8] {
    let (x, y) = (Base64URL.encode(x), Base64URL.encode(y))
    return Array(#"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#.utf8)
  }

  /// The key's name: the thumbprint of its JSON Web Key by SHA-256 (RFC 7638).
  package var thumbprint: String { Base64URL.encode(SHA256.digest(of: jwk)) }

  /// Whether a signature of a message, in the form of JWS, was made by the private key that belongs
  /// to this one.
  package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    guard signature.count == 2 * Self.coordinateBytes else { return false }
    defer { OpenSSLErrors.clear() }
    let encoded = Self.prefix + x + y
    let key = encoded.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      return d2i_PUBKEY(nil, &place, bytes.count)
    }
    guard let key else { return false }
    defer { EVP_PKEY_free(key) }
    guard let context = EVP_MD_CTX_new() else { preconditionFailure("EVP_MD_CTX_new") }
    defer { EVP_MD_CTX_free(context) }
    guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
    let der = Self.der(signature)
    return EVP_DigestVerify(context, der, der.count, message, message.count) == 1
  }

  /// The two numbers of a signature as DER: a sequence of two integers.
  private static func der(_ signature: [UInt8]) -> [UInt8] {
    let numbers = [signature.prefix(coordinateBytes), signature.suffix(coordinateBytes)]
    let integers = numbers.flatMap { number -> [UInt8] in
      var bytes = Array(number.drop { $0 == 0 })
      // One whose highest bit is set would be negative.
      if bytes.first.map({ $0 >= 0x80 }) ?? true { bytes.insert(0, at: 0) }
      return [0x02, UInt8(bytes.count)] + bytes
    }
    return [0x30, UInt8(integers.count)] + integers
  }
}
