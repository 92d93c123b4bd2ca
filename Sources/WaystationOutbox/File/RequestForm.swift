/// The form in which requests and header fields are stored: each text with its length before it.
///
/// A request is its method, its path, its upstream (empty for none), and the names and values of
/// its header fields. A length has four bytes, the lowest first.
enum RequestForm {
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

  /// The request of a stored form; nil for bytes that are none.
  static func request(_ bytes: [UInt8]) -> KeptRequest? {
    guard let texts = texts(bytes), texts.count >= 3, texts.count % 2 == 1 else { return nil }
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
    guard let texts = texts(bytes), texts.count % 2 == 0 else { return nil }
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

  private static func texts(_ bytes: [UInt8]) -> [String]? {
    var texts: [String] = []
    var place = 0
    while place < bytes.count {
      guard place + 4 <= bytes.count else { return nil }
      let count = (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
      place += 4
      guard count <= bytes.count - place,
        let text = String(validating: bytes[place..<place + count], as: UTF8.self)
      else { return nil }
      texts.append(text)
      place += count
    }
    return texts
  }
}
