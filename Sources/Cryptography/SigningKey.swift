import COpenSSL

/// A private key that signs tokens (JWS, RFC 7515), read from a file or made anew.
///
/// Sound: `@unchecked Sendable`, since the key does not change once it was read, and several
/// threads may use one (openssl-threads(7)).
package final class SigningKey: @unchecked Sendable, Equatable {
  /// The algorithm's name (RFC 7518 section 3.1, RFC 8037 section 3.1): by the key's own kind.
  package let algorithm: String
  private let pointer: OpaquePointer
  private let bytes: [UInt8]
  /// The length of each of the two numbers of an ECDSA signature; nil for other kinds.
  private let coordinateBytes: Int?

  /// The shortest RSA key, in bits (RFC 7518 section 3.3).
  private static let rsaBitsMin: Int32 = 2048

  /// The keys that sign, in words.
  package static let kinds = "RSA of \(rsaBitsMin) bits or more, P-256, P-384 or Ed25519"

  /// Reads a file.
  ///
  /// - Parameter kinds: The keys that whoever reads it can use, in words.
  /// - Throws: The fault of the file, or of its key.
  package init(reading path: String, use kinds: String = kinds) throws(TLSLoadError) {
    let file = try PEMFile(reading: path)
    let key = try file.privateKey()
    guard let kind = Self.kind(of: key) else {
      EVP_PKEY_free(key)
      throw file.failure("holds a key of a kind that signs nothing here; use \(kinds)")
    }
    (algorithm, coordinateBytes) = kind
    pointer = key
    bytes = file.bytes
  }

  private init(adoptingEd25519 key: OpaquePointer) {
    (algorithm, coordinateBytes) = ("EdDSA", nil)
    pointer = key
    bytes = Self.pem(of: key)
  }

  /// Makes a new key of Ed25519 (RFC 8032).
  package static func makeEd25519() -> SigningKey {
    var key: OpaquePointer?
    // Ed25519 is in OpenSSL's default provider: these fail only without memory or randomness.
    guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nil),
      EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_keygen(context, &key) == 1, let key
    else { preconditionFailure("cannot make a key: \(OpenSSLErrors.takeReason())") }
    EVP_PKEY_CTX_free(context)
    return SigningKey(adoptingEd25519: key)
  }

  deinit { EVP_PKEY_free(pointer) }

  /// Whether two files hold the same.
  package static func == (left: SigningKey, right: SigningKey) -> Bool { left.bytes == right.bytes }

  /// The key as PEM; as it was read, if it was.
  package var pem: [UInt8] { bytes }

  /// The public key that belongs to it; nil for another kind than Ed25519.
  package var ed25519: Ed25519PublicKey? {
    guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_ED25519 else { return nil }
    var count = Ed25519PublicKey.byteCount
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, used in
      let status = EVP_PKEY_get_raw_public_key(pointer, bytes.baseAddress, &count)
      precondition(status == 1, "EVP_PKEY_get_raw_public_key failed")
      used = count
    }
    return Ed25519PublicKey(bytes)
  }

  /// The public key that belongs to it; nil for another kind than P-256.
  package var p256: P256PublicKey? { algorithm == "ES256" ? P256PublicKey(of: pointer) : nil }

  /// A key in PEM form, as PKCS #8 (RFC 5958), without a passphrase.
  private static func pem(of key: OpaquePointer) -> [UInt8] {
    guard let bio = BIO_new(BIO_s_mem()),
      PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil) == 1
    else { preconditionFailure("cannot write a key: \(OpenSSLErrors.takeReason())") }
    defer { BIO_free(bio) }
    return [UInt8](unsafeUninitializedCapacity: BIO_ctrl_pending(bio)) { bytes, used in
      let status = BIO_read_ex(bio, bytes.baseAddress, bytes.count, &used)
      precondition(status == 1, "BIO_read_ex failed")
    }
  }

  private static func kind(of key: OpaquePointer) -> (String, Int?)? {
    switch EVP_PKEY_get_base_id(key) {
    case EVP_PKEY_RSA: return EVP_PKEY_get_bits(key) >= rsaBitsMin ? ("RS256", nil) : nil
    case EVP_PKEY_ED25519: return ("EdDSA", nil)
    case EVP_PKEY_EC:
      var name = [CChar](repeating: 0, count: 32)
      var count = 0
      guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { return nil }
      switch String(decoding: name.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) {
      case "prime256v1": return ("ES256", 32)
      case "secp384r1": return ("ES384", 48)
      default: return nil
      }
    default: return nil
    }
  }

  private var digest: OpaquePointer? {
    switch algorithm {
    case "EdDSA": nil
    case "ES384": EVP_sha384()
    default: EVP_sha256()
    }
  }

  /// The signature of some bytes, in the form of JWS.
  package func sign(_ message: [UInt8]) -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { preconditionFailure("EVP_MD_CTX_new") }
    defer { EVP_MD_CTX_free(context) }
    var count = 0
    // The algorithms were looked at when the key was read: these fail only without memory.
    precondition(EVP_DigestSignInit(context, nil, digest, nil, pointer) == 1, "cannot sign")
    precondition(
      EVP_DigestSign(context, nil, &count, message, message.count) == 1, "cannot sign")
    let signature = [UInt8](unsafeUninitializedCapacity: count) { bytes, used in
      let status = EVP_DigestSign(context, bytes.baseAddress, &count, message, message.count)
      precondition(status == 1, "cannot sign")
      used = count
    }
    return coordinateBytes.map { Self.joined(signature, coordinateBytes: $0) } ?? signature
  }

  /// The two numbers of an ECDSA signature, one behind the other (RFC 7518 section 3.4), out of
  /// their DER: a sequence of two integers, all of them shorter than 128 bytes.
  private static func joined(_ der: [UInt8], coordinateBytes: Int) -> [UInt8] {
    var rest = der.dropFirst(2)
    var joined: [UInt8] = []
    for _ in 0..<2 {
      let length = Int(rest[rest.startIndex + 1])
      let number = rest.dropFirst(2).prefix(length).drop { $0 == 0 }
      joined += [UInt8](repeating: 0, count: coordinateBytes - number.count) + number
      rest = rest.dropFirst(2 + length)
    }
    return joined
  }
}
