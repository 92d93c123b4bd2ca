#if PostgreSQL
/// The values of a statement in PostgreSQL's binary form, one after the other.
///
/// Numbers have their highest byte first. An array has the number of its dimensions, whether there
/// are NULLs, the type of its elements, their number and the first index; then each element's
/// length, -1 for NULL, and its bytes (`array_recv` in the server's `arrayfuncs.c`).
struct EncodedValues {
  /// All bytes, and one more, so that there is an address even of no bytes.
  private(set) var bytes: [UInt8] = []
  /// Where each value is; nil for NULL.
  private(set) var places: [Range<Int>?] = []

  init(_ values: [PostgresValue]) {
    bytes.reserveCapacity(values.reduce(1) { $0 + $1.byteCountMax })
    places.reserveCapacity(values.count)
    for value in values {
      let start = bytes.count
      places.append(append(value) ? start..<bytes.count : nil)
    }
    bytes.append(0)
  }

  /// Appends a value's bytes, unless it is NULL.
  ///
  /// - Returns: Whether it is not.
  private mutating func append(_ value: PostgresValue) -> Bool {
    switch value {
    case .int64(let number): append(number)
    case .int32(let number): append(number)
    case .int16(let number): append(number)
    case .bool(let flag): append(flag.map { $0 ? 1 : 0 } as UInt8?)
    case .text(let text): append(text?.utf8)
    case .bytes(let content): append(content)
    case .uuid(let uuid): append(uuid: uuid)
    case .int64s(let elements): append(elements, of: TypeNumber.int8) { $0.append($1) }
    case .int32s(let elements): append(elements, of: TypeNumber.int4) { $0.append($1) }
    case .int16s(let elements): append(elements, of: TypeNumber.int2) { $0.append($1) }
    case .bools(let elements):
      append(elements, of: TypeNumber.bool) { $0.append($1.map { $0 ? 1 : 0 } as UInt8?) }
    case .texts(let elements): append(elements, of: TypeNumber.text) { $0.append($1?.utf8) }
    case .byteStrings(let elements): append(elements, of: TypeNumber.bytea) { $0.append($1) }
    case .uuids(let elements): append(elements, of: TypeNumber.uuid) { $0.append(uuid: $1) }
    }
  }

  private mutating func append(_ number: (some FixedWidthInteger)?) -> Bool {
    guard let number else { return false }
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    return true
  }

  private mutating func append(_ content: (some Sequence<UInt8>)?) -> Bool {
    guard let content else { return false }
    bytes.append(contentsOf: content)
    return true
  }

  private mutating func append(uuid: [UInt8]?) -> Bool {
    precondition(uuid == nil || uuid?.count == 16, "a UUID has 16 bytes")
    return append(uuid)
  }

  private mutating func append<Element>(
    _ elements: [Element?], of type: UInt32, each: (inout Self, Element?) -> Bool
  ) -> Bool {
    _ = append(Int32(elements.isEmpty ? 0 : 1))
    let flagPlace = bytes.count
    _ = append(Int32(0))
    _ = append(type)
    guard !elements.isEmpty else { return true }
    _ = append(Int32(elements.count))
    _ = append(Int32(1))
    for element in elements {
      let lengthPlace = bytes.count
      _ = append(Int32(-1))
      if each(&self, element) {
        put(UInt32(bytes.count - lengthPlace - 4), at: lengthPlace)
      } else {
        put(1, at: flagPlace)
      }
    }
    return true
  }

  private mutating func put(_ number: UInt32, at place: Int) {
    for index in 0..<4 {
      bytes[place + index] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * index))
    }
  }
}
#endif
