import SQLite

/// The content of one row of a table, or of one entry of an index.
package struct StoredRecord: Hashable {
  /// The stored values: fewer than there are columns if some were added later.
  package var values: [StoredValue]

  /// Parses a record; nil if nobody of us can have written it: its values are integers, UTF-8,
  /// bytes and NULL.
  package init?(_ payload: [UInt8]) {
    guard let (headerBytes, start) = payload.variableNumber(at: 0, before: payload.count),
      headerBytes >= start, headerBytes <= payload.count
    else { return nil }
    values = []
    var place = start
    var content = Int(headerBytes)
    while place < Int(headerBytes) {
      guard let (type, next) = payload.variableNumber(at: place, before: Int(headerBytes)),
        let value = Self.value(ofType: type, in: payload, at: &content)
      else { return nil }
      values.append(value)
      place = next
    }
    guard content == payload.count else { return nil }
  }

  /// Parses the first values of a record of which only the beginning is there.
  ///
  /// - Returns: The values that lie whole in these bytes.
  package static func leading(_ payload: ArraySlice<UInt8>) -> [StoredValue] {
    let payload = Array(payload)
    var values: [StoredValue] = []
    guard let (headerBytes, start) = payload.variableNumber(at: 0, before: payload.count),
      headerBytes >= start, headerBytes <= payload.count
    else { return [] }
    var place = start
    var content = Int(headerBytes)
    while place < Int(headerBytes),
      let (type, next) = payload.variableNumber(at: place, before: Int(headerBytes)),
      let value = value(ofType: type, in: payload, at: &content)
    {
      values.append(value)
      place = next
    }
    return values
  }

  private static func value(
    ofType type: Int64, in payload: [UInt8], at place: inout Int
  ) -> StoredValue? {
    switch type {
    case 0: return .null
    case 8: return .integer(0)
    case 9: return .integer(1)
    case 1...6:
      let count = [1, 2, 3, 4, 6, 8][Int(type) - 1]
      guard let bytes = take(count, of: payload, at: &place) else { return nil }
      // In a negative number all bits above the first byte are set.
      let start: Int64 = bytes.first.map { $0 >= 0x80 ? -1 : 0 } ?? 0
      return .integer(bytes.reduce(start) { $0 << 8 | Int64($1) })
    case 12...:
      guard let bytes = take(Int(clamping: (type - 12) / 2), of: payload, at: &place) else {
        return nil
      }
      if type % 2 == 0 { return .blob(Array(bytes)) }
      return String(validating: bytes, as: UTF8.self).map { .text($0) }
    default: return nil
    }
  }

  private static func take(
    _ count: Int, of payload: [UInt8], at place: inout Int
  ) -> ArraySlice<UInt8>? {
    guard count >= 0, count <= payload.count - place else { return nil }
    defer { place += count }
    return payload[place..<place + count]
  }
}

/// Numbers in SQLite's files: the highest byte first (<https://www.sqlite.org/fileformat.html>).
extension [UInt8] {
  /// Two bytes; 0 beyond the end.
  package func number16(at place: Int) -> Int {
    guard place >= 0, place + 2 <= count else { return 0 }
    return Int(self[place]) << 8 | Int(self[place + 1])
  }

  /// Four bytes; 0 beyond the end.
  package func number32(at place: Int) -> Int {
    guard place >= 0, place + 4 <= count else { return 0 }
    return number16(at: place) << 16 | number16(at: place + 2)
  }

  /// A variable-length number, and the place after it: seven bits a byte, eight in the ninth; nil
  /// beyond `end`.
  package func variableNumber(at place: Int, before end: Int) -> (value: Int64, next: Int)? {
    var value: UInt64 = 0
    for index in 0..<9 {
      let at = place + index
      guard at >= 0, at < Swift.min(end, count) else { return nil }
      if index == 8 { return (Int64(bitPattern: value << 8 | UInt64(self[at])), at + 1) }
      value = value << 7 | UInt64(self[at] & 0x7F)
      if self[at] < 0x80 { return (Int64(bitPattern: value), at + 1) }
    }
    return nil
  }
}
