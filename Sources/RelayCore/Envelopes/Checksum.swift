/// A checksum of 64 bits over stored content, by which flipped bits are noticed.
///
/// It is fixed for good, since it is stored. Each word of eight bytes, the lowest first, is mixed
/// in by a step that is one-to-one in the word and in the state before it. So a change within one
/// word is always noticed, and any other all but once in 2^64 times. It does not protect against
/// changes made on purpose.
package struct Checksum: Sendable {
  private var state: UInt64 = 0x5761_7973_7461_7431
  /// Bytes that do not fill a word yet, and their number of bits.
  private var pending: UInt64 = 0
  private var pendingBits: UInt64 = 0
  private var fieldBytes: UInt64 = 0

  /// Starts with nothing.
  package init() {}

  /// The checksum of what was added, as it is stored.
  package var value: Int64 { Int64(bitPattern: state) }

  /// Adds a number.
  ///
  /// - Precondition: no field has been begun.
  package mutating func add(_ word: UInt64) { state = Self.mixed(state, word) }

  // Sound: `bytes` is read within the call only, and each read lies within its count.
  /// Adds a part of a field; how a field is split into parts makes no difference.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    fieldBytes &+= UInt64(bytes.count)
    guard let start = bytes.baseAddress else { return }
    let count = bytes.count
    var place = 0
    while pendingBits > 0, place < count {
      take(bytes[place])
      place += 1
    }
    var state = state
    while count - place >= 32 {
      state = Self.mixed(state, start, place)
      state = Self.mixed(state, start, place + 8)
      state = Self.mixed(state, start, place + 16)
      state = Self.mixed(state, start, place + 24)
      place += 32
    }
    while count - place >= 8 {
      state = Self.mixed(state, start, place)
      place += 8
    }
    self.state = state
    if place < count { begin(start, place, count) }
  }

  /// Ends the field that was begun, so that moving bytes from one field to the next changes the
  /// sum.
  package mutating func endField() {
    if pendingBits > 0 { add(pending) }
    add(fieldBytes)
    (pending, pendingBits, fieldBytes) = (0, 0, 0)
  }

  /// Adds a whole field.
  package mutating func add(field bytes: [UInt8]) {
    bytes.withUnsafeBytes { append($0) }
    endField()
  }

  /// Adds a whole field.
  package mutating func add(field text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    endField()
  }

  private mutating func take(_ byte: UInt8) {
    pending |= UInt64(byte) << pendingBits
    pendingBits += 8
    guard pendingBits == 64 else { return }
    add(pending)
    (pending, pendingBits) = (0, 0)
  }

  /// Begins a word with the last bytes of a part, fewer than eight.
  private mutating func begin(_ start: UnsafeRawPointer, _ place: Int, _ count: Int) {
    let bits = UInt64(count - place) * 8
    if pendingBits == 0, count >= 8 {
      // The last eight bytes, without those before `place`.
      let word = start.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
      pending = UInt64(littleEndian: word) >> (64 - bits)
      pendingBits = bits
    } else {
      for place in place..<count { take(start.load(fromByteOffset: place, as: UInt8.self)) }
    }
  }

  @inline(__always)
  private static func mixed(
    _ state: UInt64, _ start: UnsafeRawPointer, _ place: Int
  ) -> UInt64 {
    let word = start.loadUnaligned(fromByteOffset: place, as: UInt64.self)
    return mixed(state, UInt64(littleEndian: word))
  }

  @inline(__always)
  private static func mixed(_ state: UInt64, _ word: UInt64) -> UInt64 {
    let product = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
    return product ^ (product &>> 32)
  }
}

extension EnvelopeContent {
  /// The checksum of everything that decides what reaches which upstream.
  ///
  /// - Parameters:
  ///   - key: The sender's key, which the upstream gets as `Idempotency-Key`.
  ///   - references: Whether references to earlier answers are filled in.
  package func checksum(
    of id: EnvelopeID, client: ClientNumber, lane: LaneNumber, upstream: UpstreamNumber,
    key: String?, references: Bool
  ) -> Int64 {
    var sum = Checksum()
    sum.add(id.high)
    sum.add(id.low)
    sum.add(UInt64(bitPattern: client.rawValue))
    sum.add(UInt64(bitPattern: lane.rawValue))
    sum.add(UInt64(bitPattern: Int64(upstream.rawValue)))
    sum.add((key == nil ? 0 : 1) | (references ? 2 : 0))
    if let key { sum.add(field: key) }
    sum.add(field: method)
    sum.add(field: target)
    sum.add(field: headers.bytes)
    switch body {
    case .inline(let bytes): sum.add(field: bytes)
    case .file(let file):
      sum.add(UInt64(bitPattern: file.byteCount))
      sum.add(UInt64(bitPattern: file.checksum ?? 0))
    }
    return sum.value
  }
}
