import Foundation

/// A seeded generator (SplitMix64), so that a failing run can be repeated.
struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// Whether an event of this probability takes place.
  mutating func happens(_ probability: Double) -> Bool {
    Double.random(in: 0..<1, using: &self) < probability
  }

  /// So many bytes of any value.
  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
  }
}

/// Packs bytes as gzip (RFC 1952) without compressing them: one stored block.
func gzip(_ bytes: [UInt8]) -> [UInt8] {
  precondition(bytes.count <= 0xFFFF, "a stored block holds no more")
  func little(_ value: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt32(8 * $0)) }
  }
  var crc: UInt32 = 0xFFFF_FFFF
  for byte in bytes {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
  }
  let length = UInt32(bytes.count)
  let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
  return header + [1] + little(length, 2) + little(~length, 2) + bytes + little(~crc, 4)
    + little(length, 4)
}

/// Looks again and again until a question is answered with something, and returns it.
///
/// For what a relay only shows and does not announce; what can be waited for is waited for.
@discardableResult
func eventually<Result>(
  _ what: String, seconds: Double = 60, _ look: () async throws -> Result?
) async throws -> Result {
  let limit = Date(timeIntervalSinceNow: seconds)
  let never = Monitor(())
  while Date() < limit {
    if let result = try await look() { return result }
    // Between two looks, the thread is left to the relay.
    _ = try await onThread { never.block(seconds: 0.01) { _ -> Bool? in nil } }
  }
  throw TimeLimitExceeded(description: "after \(seconds) s still no \(what)")
}

/// Waits until a port takes no connections any more.
func portIsClosed(_ port: UInt16) async throws {
  try await eventually("refusal at port \(port)") {
    (try? Connection(port: port)) == nil ? true : nil
  }
}
