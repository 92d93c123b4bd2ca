import COpenSSL

/// A key of HMAC-SHA-256 (RFC 2104), prepared once for many messages.
///
/// Sound: `@unchecked Sendable`, since the prepared context is only duplicated, which reads it, and
/// several threads may read an object (openssl-threads(7)).
package final class HMACKey: @unchecked Sendable {
  fileprivate let prepared: OpaquePointer

  /// Prepares a key of any length; 32 bytes or more are best (RFC 2104 section 3).
  package init(_ key: [UInt8]) {
    // Once the algorithm was found, these fail only when memory has run out.
    guard let context = EVP_MAC_CTX_new(Self.method.pointer) else {
      preconditionFailure("EVP_MAC_CTX_new: out of memory")
    }
    var digest = Array("SHA256".utf8CString)
    let status = OSSL_MAC_PARAM_DIGEST.withCString { name in
      digest.withUnsafeMutableBufferPointer { digest in
        // Both texts must stay in place until they have been read.
        var parameters = [
          OSSL_PARAM_construct_utf8_string(name, digest.baseAddress, 0),
          OSSL_PARAM_construct_end(),
        ]
        // An empty key is valid, but NULL would mean "the former key".
        return (key + [0]).withUnsafeBufferPointer {
          EVP_MAC_init(context, $0.baseAddress, key.count, &parameters)
        }
      }
    }
    precondition(status == 1, "EVP_MAC_init failed for HMAC with SHA-256")
    prepared = context
  }

  deinit { EVP_MAC_CTX_free(prepared) }

  private static let method = FetchedMAC("HMAC")
}

/// The HMAC-SHA-256 of one message, which comes at once or in pieces.
package struct HMACSHA256: ~Copyable {
  /// The length of a code in bytes.
  package static let codeBytes = 32

  /// OpenSSL's own state; freed when the value ends.
  private let context: OpaquePointer

  /// Begins a message.
  package init(key: HMACKey) {
    guard let context = EVP_MAC_CTX_dup(key.prepared) else {
      preconditionFailure("EVP_MAC_CTX_dup: out of memory")
    }
    self.context = context
  }

  deinit { EVP_MAC_CTX_free(context) }

  /// Adds the next piece of the message.
  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// Adds the next piece of the message, borrowed for the length of the call.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.baseAddress else { return }
    let status = EVP_MAC_update(
      context, first.assumingMemoryBound(to: UInt8.self), bytes.count)
    precondition(status == 1, "EVP_MAC_update failed")
  }

  /// The code of everything that was added: ``codeBytes`` bytes.
  package consuming func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.codeBytes) { code, count in
      let status = EVP_MAC_final(context, code.baseAddress, &count, code.count)
      precondition(status == 1 && count == Self.codeBytes, "EVP_MAC_final failed")
    }
  }

  /// The code of `bytes` under a key for one use: ``codeBytes`` bytes.
  package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    code(of: bytes, key: HMACKey(key))
  }

  /// The code of `bytes` under a key: ``codeBytes`` bytes.
  package static func code(of bytes: [UInt8], key: HMACKey) -> [UInt8] {
    var code = HMACSHA256(key: key)
    code.update(bytes)
    return code.finish()
  }
}

/// A MAC algorithm that OpenSSL has looked up.
///
/// Sound: `@unchecked Sendable`, since a fetched `EVP_MAC` does not change, its references are
/// counted atomically, and any thread may use it (openssl-threads(7)). It is kept until the process
/// ends.
private struct FetchedMAC: @unchecked Sendable {
  let pointer: OpaquePointer

  init(_ name: String) {
    guard let pointer = EVP_MAC_fetch(nil, name, nil) else {
      preconditionFailure("OpenSSL has no \(name): its default provider is missing")
    }
    self.pointer = pointer
  }
}
