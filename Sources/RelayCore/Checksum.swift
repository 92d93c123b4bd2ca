/// A sum of 64 bits over what is kept, by which bytes that have flipped are noticed.
///
/// Fixed for good, since it is stored: each word of eight bytes, the lowest first, is mixed in by a
/// step that no two values of it, and no two states before it, leave alike. So what flips in one
/// such word is always noticed, and anything else but once in 2^64 times. It keeps nobody from
/// changing content on purpose.
package struct Checksum: Sendable {
  private var state: UInt64 = 0x5761_7973_7461_7431
  /// Bytes that do not make up a word yet, and how many bits they have.
  private var pending: UInt64 = 0
  private var pendingBits: UInt64 = 0
  private var fieldBytes: UInt64 = 0

  /// Of nothing.
  package init() {}

  /// The sum of what was added; as it is stored.
  package var value: Int64 { Int64(bitPattern: state) }

  /// Adds a number.
  ///
  /// - Precondition: no field is begun.
  package mutating func add(_ word: UInt64) { state = Self.mixed(state, word) }

  // Sound: `bytes` is read within the call, and each look lies within its count.
  /// Adds a part of a field; in which parts a field comes makes no difference.
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
    while place < count {
      take(bytes[place])
      place += 1
    }
  }

  /// Ends the field that was begun: where one ends and the next one begins counts.
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
  /// The sum of all that decides what reaches which upstream.
  ///
  /// - Parameters:
  ///   - key: The sender's, which the upstream gets as `Idempotency-Key`.
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
