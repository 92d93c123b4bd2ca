import RelayCore

/// The status and fields of an upstream's response, collected line by line.
///
/// Interim responses (1xx) are skipped, and so are trailers. Fields that end at a relay are left
/// out; all others are kept with their bytes. Only control characters in a value become blanks, as
/// RFC 9110 section 5.5 allows, and folded lines are unfolded (RFC 9112 section 5.2).
package struct ResponseHead {
  /// The result of a line.
  package enum Progress: Equatable {
    /// More lines have to come.
    case goesOn
    /// This was the empty line after the final response's fields.
    case complete
    /// The response is not valid; a sentence says why.
    case malformed(String)
  }

  /// Initial memory for the fields, enough for most responses.
  private static let usualFieldBytes = 512

  private enum Stage {
    case statusLine
    case interim
    case final
    case complete
  }

  /// The final response's status; nil until it is known.
  package private(set) var status: Int?
  /// The length of the body, if the response states it.
  package private(set) var contentLength: Int64?
  /// The number of the final response's field lines, also of those that are left out.
  package private(set) var fieldCount = 0
  /// Whether all of the final response's fields have come.
  package var isComplete: Bool { stage == .complete }

  /// Whether `Content-Length` is invalid, or is given in two ways.
  ///
  /// Then nobody can say where the response ends and something else begins (RFC 9112 section 6.3).
  private var lengthIsContradictory = false
  private var isChunked = false
  private var stage = Stage.statusLine
  private var fields: [UInt8] = []
  private var options = ConnectionOptions()
  private var bytesLeft: Int
  private var lastFieldIsKept = false

  /// Begins a response, of which at most `bytesMax` bytes of header lines are accepted.
  package init(bytesMax: Int) { bytesLeft = bytesMax }

  /// Receives one line with its line end, as libcurl passes it.
  package mutating func receive(_ line: Span<UInt8>) -> Progress {
    bytesLeft -= line.count
    guard bytesLeft >= 0 else { return .malformed("the answer's header is too long") }
    var end = line.count
    while end > 0, line[end - 1] == 0x0A || line[end - 1] == 0x0D { end -= 1 }
    let content = line.extracting(first: end)
    switch stage {
    case .complete: return .goesOn
    case .statusLine: return receiveStatusLine(content)
    case .interim:
      if content.isEmpty { stage = .statusLine }
      return .goesOn
    case .final:
      if content.isEmpty {
        if lengthIsContradictory, !isChunked {
          return .malformed("the answer's Content-Length makes no sense")
        }
        stage = .complete
        return .complete
      }
      fieldCount += 1
      receiveField(content)
      return .goesOn
    }
  }

  /// The fields of the final response; call it only once that is complete.
  package func headers() -> HeaderBlock {
    guard !options.isEmpty else { return HeaderBlock(wellFormed: fields) }
    var kept: [UInt8] = []
    var start = 0
    while let field = FieldRange(in: fields.span, at: start) {
      if !options.contain(fields.span.extracting(field.name)) {
        kept.append(contentsOf: fields[start..<field.next])
      }
      start = field.next
    }
    return HeaderBlock(wellFormed: kept)
  }

  /// Parses `HTTP/1.1 200 OK`, or `HTTP/2 200`.
  private mutating func receiveStatusLine(_ line: Span<UInt8>) -> Progress {
    var position = 0
    while position < line.count, line[position] != UInt8(ascii: " ") { position += 1 }
    var number = 0
    var digits = 0
    position += 1
    while position < line.count, line[position] >= 0x30, line[position] <= 0x39, digits < 4 {
      number = number * 10 + Int(line[position] - 0x30)
      digits += 1
      position += 1
    }
    guard line.begins(with: "http/"), digits == 3 else {
      return .malformed("the answer's status line cannot be read")
    }
    if (100..<200).contains(number), number != 101 {
      stage = .interim
      return .goesOn
    }
    // 101 would end HTTP on this connection, and nobody asked for that.
    guard (200..<600).contains(number) else {
      return .malformed("the answer's status \(number) is not between 200 and 599")
    }
    status = number
    stage = .final
    return .goesOn
  }
}

extension ResponseHead {
  private mutating func receiveField(_ line: Span<UInt8>) {
    if line[0] == 0x20 || line[0] == 0x09 {
      if lastFieldIsKept { unfold(line) }
      return
    }
    lastFieldIsKept = false
    var colon = 0
    while colon < line.count, line[colon] != UInt8(ascii: ":") { colon += 1 }
    guard colon > 0, colon < line.count, line.isToken(0..<colon) else { return }
    let name = line.extracting(first: colon)
    let value = line.trimmed((colon + 1)..<line.count)
    if name.equals("connection") {
      options.add(line.extracting(value))
    } else if name.equals("content-length") {
      let length = line.decimal(value)
      if length == nil || contentLength.map({ $0 != length }) == true {
        lengthIsContradictory = true
      }
      contentLength = length
    } else if name.equals("transfer-encoding") {
      isChunked = true
    }
    guard !ConnectionField.isOne(name) else { return }
    fields.reserveCapacity(Self.usualFieldBytes)
    name.withUnsafeBufferPointer { fields.append(contentsOf: $0) }
    fields.append(UInt8(ascii: ":"))
    fields.append(UInt8(ascii: " "))
    appendValue(line, value)
    lastFieldIsKept = true
  }

  /// Continues the last field with this line.
  private mutating func unfold(_ line: Span<UInt8>) {
    let value = line.trimmed(0..<line.count)
    guard !value.isEmpty else { return }
    fields.removeLast(2)
    if fields.last != UInt8(ascii: " ") { fields.append(UInt8(ascii: " ")) }
    appendValue(line, value)
  }

  private mutating func appendValue(_ line: Span<UInt8>, _ range: Range<Int>) {
    let start = fields.count
    line.extracting(range).withUnsafeBufferPointer { fields.append(contentsOf: $0) }
    if line.holdsControls(range) {
      for index in range { fields[start + index - range.lowerBound] = line.sanitised(at: index) }
    }
    fields.append(0x0D)
    fields.append(0x0A)
  }
}

extension Span<UInt8> {
  /// The number that digits stand for; nil if they are not digits, or too many.
  fileprivate func decimal(_ range: Range<Int>) -> Int64? {
    guard !range.isEmpty, range.count < 19 else { return nil }
    var number: Int64 = 0
    for index in range {
      guard self[index] >= 0x30, self[index] <= 0x39 else { return nil }
      number = number * 10 + Int64(self[index] - 0x30)
    }
    return number
  }

  fileprivate func isToken(_ range: Range<Int>) -> Bool {
    for index in range where !FieldSyntax.isTokenByte(self[index]) { return false }
    return true
  }

  fileprivate func holdsControls(_ range: Range<Int>) -> Bool {
    for index in range where sanitised(at: index) != self[index] { return true }
    return false
  }

  /// The byte, or a blank if a value must not contain it.
  fileprivate func sanitised(at index: Int) -> UInt8 {
    let byte = self[index]
    return (byte < 0x20 && byte != 0x09) || byte == 0x7F ? 0x20 : byte
  }
}
