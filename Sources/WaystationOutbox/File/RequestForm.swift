import RelayCore

/// The form in which requests and header fields are stored: each text with its length before it.
///
/// A request is its method, its path, its upstream (empty for none), and the names and values of
/// its header fields. A length has four bytes, the lowest first. In a row the checksums of a body
/// that lies in a file follow, and a checksum of all that.
enum RequestForm {
  /// What stands before a checksum: no text is as long, and none has such bytes.
  private static let sumMark = [UInt8](repeating: 0xFF, count: 4)
  private static let sumBytes = 8
  /// What stands before the checksums of a file: one wrong bit makes neither mark the other.
  private static let fileMark = [UInt8](repeating: 0xFE, count: 4)

  /// The stored form of a request.
  static func bytes(of request: KeptRequest) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(64)
    append(request.method, to: &bytes)
    append(request.path, to: &bytes)
    append(request.upstream ?? "", to: &bytes)
    append(request.headers, to: &bytes)
    return bytes
  }

  /// What a row holds of a request: its form, and a checksum of that and of the row's body.
  static func row(of request: KeptRequest, body: NewBody) -> [UInt8] {
    var form = bytes(of: request)
    if case .file(_, _, let sums) = body {
      form += fileMark
      for sum in sums.blocks { append(sum: sum, to: &form) }
    }
    let sum = sum(of: form[...], body.stored ?? [])
    form += sumMark
    append(sum: sum, to: &form)
    return form
  }

  /// Whether a row is known to hold other bytes than it was written with.
  ///
  /// Rows of the first devices have no checksum.
  static func isChanged(_ row: [UInt8], body: [UInt8]) -> Bool {
    guard let form = summed(row) else { return false }
    return sums(row.suffix(sumBytes)) != [sum(of: form, body)]
  }

  /// The checksums of the file that a row's body names; nil if it has none.
  ///
  /// Rows of earlier devices have none.
  static func fileSums(_ row: [UInt8]) -> FileSums? {
    guard let form = summed(row), let (_, rest) = texts(form), !rest.isEmpty else { return nil }
    return FileSums(blocks: sums(rest.dropFirst(fileMark.count)))
  }

  private static func append(sum: Int64, to bytes: inout [UInt8]) {
    let word = UInt64(bitPattern: sum)
    for place in 0..<sumBytes { bytes.append(UInt8(truncatingIfNeeded: word >> (8 * place))) }
  }

  private static func sums(_ bytes: ArraySlice<UInt8>) -> [Int64] {
    stride(from: bytes.startIndex, to: bytes.endIndex, by: sumBytes).map { place in
      let word = bytes[place..<min(place + sumBytes, bytes.endIndex)].reversed()
      return Int64(bitPattern: word.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
  }

  /// The form in a row with a checksum; nil of a row without one.
  private static func summed(_ row: [UInt8]) -> ArraySlice<UInt8>? {
    let end = row.dropLast(sumBytes)
    return end.suffix(sumMark.count) == sumMark[...] ? end.dropLast(sumMark.count) : nil
  }

  private static func sum(of form: ArraySlice<UInt8>, _ body: [UInt8]) -> Int64 {
    var sum = Checksum()
    // Sound: the bytes are read within the call.
    form.withUnsafeBytes { sum.append($0) }
    sum.endField()
    sum.add(field: body)
    return sum.value
  }

  /// The request of a row or a form; nil for bytes that are none.
  static func request(_ bytes: [UInt8]) -> KeptRequest? {
    let form = summed(bytes)
    // Nobody has written a file's checksums without the one of all.
    guard let (texts, rest) = texts(form ?? bytes[...]), texts.count >= 3, texts.count % 2 == 1,
      rest.isEmpty || form != nil
    else { return nil }
    return KeptRequest(
      upstream: texts[2].isEmpty ? nil : texts[2], method: texts[0], path: texts[1],
      headers: lines(texts[3...]))
  }

  /// The stored form of header fields.
  static func bytes(of headers: [HeaderLine]) -> [UInt8] {
    var bytes: [UInt8] = []
    append(headers, to: &bytes)
    return bytes
  }

  /// The header fields of a stored form; nil for bytes that are none.
  static func lines(_ bytes: [UInt8]) -> [HeaderLine]? {
    guard let (texts, rest) = texts(bytes[...]), texts.count % 2 == 0, rest.isEmpty
    else { return nil }
    return lines(texts[...])
  }

  private static func lines(_ texts: ArraySlice<String>) -> [HeaderLine] {
    stride(from: texts.startIndex, to: texts.endIndex, by: 2).map {
      HeaderLine(name: texts[$0], value: texts[$0 + 1])
    }
  }

  private static func append(_ headers: [HeaderLine], to bytes: inout [UInt8]) {
    for line in headers {
      append(line.name, to: &bytes)
      append(line.value, to: &bytes)
    }
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    let utf8 = text.utf8
    let count = UInt32(utf8.count)
    for shift in stride(from: UInt32(0), through: 24, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: count >> shift))
    }
    bytes.append(contentsOf: utf8)
  }

  /// The texts of a form, and what begins with the mark of a file's checksums.
  private static func texts(
    _ bytes: ArraySlice<UInt8>
  ) -> (texts: [String], rest: ArraySlice<UInt8>)? {
    var texts: [String] = []
    var place = bytes.startIndex
    while place < bytes.endIndex {
      if bytes[place...].starts(with: fileMark) { break }
      guard place + 4 <= bytes.endIndex else { return nil }
      let count = (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
      place += 4
      guard count <= bytes.endIndex - place,
        let text = String(validating: bytes[place..<place + count], as: UTF8.self)
      else { return nil }
      texts.append(text)
      place += count
    }
    return (texts, bytes[place...])
  }
}
