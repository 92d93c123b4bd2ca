/// Decodes the chunked transfer coding (RFC 9112 section 7.1), incrementally and strictly.
struct ChunkDecoder: Sendable {
  /// The result of a step.
  enum Step: Sendable, Equatable {
    /// More bytes have to arrive first.
    case needMore
    /// Some bytes of the body.
    case data(Range<Int>)
    /// The last chunk and the trailer section are over.
    case end
    /// The framing is broken; the connection cannot be used any more.
    case refused(ProtocolProblem)
  }

  private enum Phase {
    case size
    case data(left: Int64)
    case dataEnd
    case trailer
    case over
  }

  /// The longest line with a chunk's size and its extensions, without its CRLF.
  static let sizeLineBytesMax = 256

  private let limits: HTTPLimits
  private var phase = Phase.size
  /// The number of bytes of the current line that have been searched for its end.
  private var scanned = 0
  private var extensionBytes = 0
  private var trailerCount = 0
  private var trailerBytes = 0

  init(limits: HTTPLimits) {
    self.limits = limits
  }

  /// Takes a step.
  ///
  /// - Parameters:
  ///   - start: The first byte that no step has consumed; moved past the bytes that this one
  ///     consumes.
  ///   - end: The end of the bytes that have arrived.
  mutating func next(_ buffer: [UInt8], from start: inout Int, to end: Int) -> Step {
    do throws(ProtocolProblem) {
      while true {
        if let step = try advance(buffer, &start, end) { return step }
      }
    } catch {
      return .refused(error)
    }
  }

  /// Makes one transition; nil if the next one may follow at once.
  private mutating func advance(
    _ buffer: [UInt8], _ start: inout Int, _ end: Int
  ) throws(ProtocolProblem) -> Step? {
    switch phase {
    case .size:
      guard let line = try nextLine(buffer, &start, end, bytesMax: Self.sizeLineBytesMax) else {
        return .needMore
      }
      let size = try size(buffer, line)
      phase = size == 0 ? .trailer : .data(left: size)
    case .data(let left):
      guard start < end else { return .needMore }
      let count = Int(min(left, Int64(end - start)))
      defer { start += count }
      phase = left == count ? .dataEnd : .data(left: left - Int64(count))
      return .data(start..<start + count)
    case .dataEnd:
      return try takeDataEnd(buffer, &start, end)
    case .trailer:
      return try takeTrailer(buffer, &start, end)
    case .over:
      return .end
    }
    return nil
  }

  private mutating func takeDataEnd(
    _ buffer: [UInt8], _ start: inout Int, _ end: Int
  ) throws(ProtocolProblem) -> Step? {
    // The first byte is judged alone: if it is wrong, no second one is needed.
    guard start < end else { return .needMore }
    guard buffer[start] == 0x0D else { throw Self.broken("A chunk is longer than its size says.") }
    guard start + 1 < end else { return .needMore }
    guard buffer[start + 1] == 0x0A else { throw Self.broken("A chunk does not end in CRLF.") }
    start += 2
    phase = .size
    return nil
  }

  /// Checks trailer fields by the rules of any field, and drops them (RFC 9110 section 6.5.1).
  private mutating func takeTrailer(
    _ buffer: [UInt8], _ start: inout Int, _ end: Int
  ) throws(ProtocolProblem) -> Step? {
    let bytesMax = limits.fieldBytesMax - trailerBytes
    guard let line = try nextLine(buffer, &start, end, bytesMax: bytesMax) else {
      return .needMore
    }
    if line.isEmpty {
      phase = .over
      return .end
    }
    trailerCount += 1
    trailerBytes += line.count + 2
    guard trailerCount <= limits.fieldCountMax, trailerBytes <= limits.fieldBytesMax else {
      throw Self.broken("The trailer section is too large.")
    }
    do throws(ProtocolProblem) {
      _ = try FieldLine.parse(buffer, line, origin: line.lowerBound)
    } catch {
      throw Self.broken("In the trailer section: \(error.detail)")
    }
    return nil
  }

  /// Consumes the next line, and returns it without its CRLF; nil if it has not arrived.
  private mutating func nextLine(
    _ buffer: [UInt8], _ start: inout Int, _ end: Int, bytesMax: Int
  ) throws(ProtocolProblem) -> Range<Int>? {
    var index = start + scanned
    while index < end, buffer[index] != 0x0A { index += 1 }
    guard index - start <= bytesMax + 1 else {
      throw Self.broken("A line of the chunked coding is too long.")
    }
    guard index < end else {
      scanned = index - start
      return nil
    }
    guard index > start, buffer[index - 1] == 0x0D else {
      throw Self.broken("A line of the chunked coding ends in a bare LF.")
    }
    let line = start..<index - 1
    start = index + 1
    scanned = 0
    return line
  }

  /// `1*HEXDIG [ chunk-ext ]`: no sign, no prefix, no space, no number past `Int64.max`.
  private mutating func size(
    _ buffer: [UInt8], _ line: Range<Int>
  ) throws(ProtocolProblem) -> Int64 {
    var size: Int64 = 0
    var index = line.lowerBound
    while index < line.upperBound, let digit = CharacterClass.hexValue(buffer[index]) {
      guard size <= Int64.max >> 4 else { throw Self.broken("A chunk size is out of range.") }
      size = size << 4 | Int64(digit)
      index += 1
    }
    guard index > line.lowerBound else { throw Self.broken("A chunk has no size.") }
    try Self.checkExtensions(buffer, index..<line.upperBound)
    // Each extension is short, but every chunk of one byte may carry one.
    extensionBytes += line.upperBound - index
    guard extensionBytes <= limits.fieldBytesMax else {
      throw Self.broken("The chunk extensions are too large.")
    }
    return size
  }

  /// Checks that extensions, which are not used, have their form: `;` and no control characters.
  private static func checkExtensions(
    _ buffer: [UInt8], _ range: Range<Int>
  ) throws(ProtocolProblem) {
    guard !range.isEmpty else { return }
    var index = range.lowerBound
    while index < range.upperBound, buffer[index] == 0x20 || buffer[index] == 0x09 { index += 1 }
    guard index < range.upperBound, buffer[index] == 0x3B,
      buffer[range].allSatisfy(CharacterClass.isField)
    else {
      throw broken("A chunk size is followed by something other than an extension.")
    }
  }

  private static func broken(_ detail: String) -> ProtocolProblem {
    ProtocolProblem(.malformedBody, detail)
  }
}
