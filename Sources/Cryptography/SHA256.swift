import COpenSSL
import Synchronization

/// SHA-256 (FIPS 180-4) by OpenSSL, over data that comes at once or in pieces.
package struct SHA256: ~Copyable {
  /// The length of a digest in bytes.
  package static let digestBytes = 32

  /// OpenSSL's own state; kept for the next digest when the value ends.
  private let context: OpaquePointer

  /// Begins a digest.
  package init() {
    context = Self.spares.take()
    // Once the digest was found, it fails only when memory has run out, which nothing can mend.
    guard EVP_DigestInit_ex2(context, SHA256.method.pointer, nil) == 1 else {
      preconditionFailure("EVP_DigestInit_ex2 failed for SHA-256")
    }
  }

  deinit { Self.spares.put(context) }

  /// Adds the next piece of the data.
  package mutating func update(_ bytes: some Collection<UInt8>) {
    let done: Void? = bytes.withContiguousStorageIfAvailable {
      update(UnsafeRawBufferPointer($0))
    }
    if done == nil { Array(bytes).withUnsafeBytes { update($0) } }
  }

  /// Adds the next piece of the data, borrowed for the length of the call.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    let status = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    precondition(status == 1, "EVP_DigestUpdate failed")
  }

  /// The digest of everything that was added: ``digestBytes`` bytes.
  package consuming func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.digestBytes) { digest, count in
      let status = EVP_DigestFinal_ex(context, digest.baseAddress, nil)
      precondition(status == 1, "EVP_DigestFinal_ex failed")
      count = Self.digestBytes
    }
  }

  /// The same for an array, without the detour of a generic call from another module.
  package static func digest(of bytes: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    bytes.withUnsafeBytes { hash.update($0) }
    return hash.finish()
  }

  /// The digest of `bytes`: ``digestBytes`` bytes.
  package static func digest(of bytes: some Collection<UInt8>) -> [UInt8] {
    var hash = SHA256()
    hash.update(bytes)
    return hash.finish()
  }

  /// The algorithm, fetched once: "Explicit fetching … should be used for performance" (crypto(7)),
  /// since fetching it on each use costs more than digesting a kilobyte.
  private static let method = FetchedMethod("SHA256")

  /// States that no digest has just now: to make one costs as much as to digest half a kilobyte.
  private static let spares = SpareContexts()
}

/// States of OpenSSL that are used again.
private final class SpareContexts: Sendable {
  /// The most that are kept.
  private static let countMax = 16

  /// A state that is handed from one digest to the next.
  ///
  /// Sound: `@unchecked Sendable`, since whoever takes one out is the only one to have it.
  private struct Spare: @unchecked Sendable { let pointer: OpaquePointer }

  private let spares = Mutex<[Spare]>([])

  func take() -> OpaquePointer {
    if let spare = spares.withLock({ $0.popLast() }) { return spare.pointer }
    guard let new = EVP_MD_CTX_new() else {
      preconditionFailure("EVP_MD_CTX_new: out of memory")
    }
    return new
  }

  func put(_ context: OpaquePointer) {
    let spare = Spare(pointer: context)
    let isKept = spares.withLock { spares in
      guard spares.count < Self.countMax else { return false }
      spares.append(spare)
      return true
    }
    if !isKept { EVP_MD_CTX_free(context) }
  }
}

/// A digest algorithm that OpenSSL has fetched.
///
/// Sound: `@unchecked Sendable`, since a fetched `EVP_MD` does not change, its references are
/// counted atomically, and any thread may use it (openssl-threads(7)). It is kept until the process
/// ends.
private struct FetchedMethod: @unchecked Sendable {
  let pointer: OpaquePointer

  init(_ name: String) {
    guard let pointer = EVP_MD_fetch(nil, name, nil) else {
      preconditionFailure("OpenSSL has no \(name): its default provider is missing")
    }
    self.pointer = pointer
  }
}
