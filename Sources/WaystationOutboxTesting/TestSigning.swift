import RelayCore
import WaystationOutbox

/// What a ``ScriptedRelay`` signs with, and its verifier, for an app's own tests.
///
/// It is no cryptography: anybody can sign with any of its keys. Devices use another one, such as
/// that of `WaystationOutboxCurl`.
public struct TestReceiptVerifier: ReceiptVerifier {
  /// The verifier.
  public init() {}

  /// Whether a key has signed a message.
  public func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
    signature == TestKey(key).sign(message)
  }

  /// The SHA-256 of some bytes.
  public func digest(_ bytes: [UInt8]) -> [UInt8] { TestSHA256.digest(bytes) }
}

/// A key of a relay in memory.
package struct TestKey: Sendable, Equatable {
  /// The public key.
  package let bytes: [UInt8]

  /// The key of these 32 bytes.
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The key of a number.
  package init(_ number: Int) { bytes = TestSHA256.digest(Array("key \(number)".utf8)) }

  /// The public key as JSON has it.
  package var text: String { Base64URL.encode(bytes) }

  /// The key's name (RFC 7638).
  package var id: String {
    Base64URL.encode(TestSHA256.digest(Array(Self.members(text).utf8)))
  }

  static func members(_ text: String) -> String {
    #"{"crv":"Ed25519","kty":"OKP","x":""# + text + #""}"#
  }

  /// The signature of a message.
  package func sign(_ message: [UInt8]) -> [UInt8] {
    TestSHA256.digest(Array("signed by".utf8) + bytes + message)
  }

  /// A compact JWS.
  package func sign(type: String, _ payload: [UInt8]) -> String {
    let header = #"{"alg":"EdDSA","kid":"\#(id)","typ":"\#(type)"}"#
    let message = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload)
    return message + "." + Base64URL.encode(sign(Array(message.utf8)))
  }
}

/// SHA-256 (FIPS 180-4), for tests.
enum TestSHA256 {
  static func digest(_ bytes: [UInt8]) -> [UInt8] {
    var padded = bytes + [0x80]
    padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
    for shift in stride(from: 56, through: 0, by: -8) {
      padded.append(UInt8(truncatingIfNeeded: (bytes.count * 8) >> shift))
    }
    var state = initial
    for start in stride(from: 0, to: padded.count, by: 64) {
      mix(&state, padded[start..<start + 64])
    }
    return state.flatMap { word in
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
    }
  }

  private static func mix(_ state: inout [UInt32], _ block: ArraySlice<UInt8>) {
    func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
    var words = [UInt32](repeating: 0, count: 64)
    for (place, byte) in block.enumerated() {
      words[place / 4] = words[place / 4] << 8 | UInt32(byte)
    }
    for place in 16..<64 {
      let (far, near) = (words[place - 15], words[place - 2])
      let first = turned(far, 7) ^ turned(far, 18) ^ far >> 3
      let second = turned(near, 17) ^ turned(near, 19) ^ near >> 10
      words[place] = words[place - 16] &+ first &+ words[place - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for place in 0..<64 {
      let high = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
      let first = h &+ high &+ (e & f ^ ~e & g) &+ constants[place] &+ words[place]
      let low = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
      let second = low &+ (a & b ^ a & c ^ b & c)
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
    }
    for (place, word) in [a, b, c, d, e, f, g, h].enumerated() { state[place] &+= word }
  }

  private static let initial: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
    0x5be0_cd19,
  ]

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
    0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
    0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
    0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
    0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
    0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
    0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
    0xc671_78f2,
  ]
}
