/// Numbers in SQLite's files: the highest byte first (<https://www.sqlite.org/fileformat.html>).
extension [UInt8] {
  /// Two bytes; 0 beyond the end.
  func number16(at place: Int) -> Int {
    guard place >= 0, place + 2 <= count else { return 0 }
    return Int(self[place]) << 8 | Int(self[place + 1])
  }

  /// Four bytes; 0 beyond the end.
  func number32(at place: Int) -> Int {
    guard place >= 0, place + 4 <= count else { return 0 }
    return number16(at: place) << 16 | number16(at: place + 2)
  }

  /// A variable-length number, and the place after it: seven bits a byte, eight in the ninth; nil
  /// beyond `end`.
  func variableNumber(at place: Int, before end: Int) -> (value: Int64, next: Int)? {
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
