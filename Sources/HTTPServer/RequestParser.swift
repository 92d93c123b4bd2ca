import Glibc

/// Parses a request's head incrementally, and refuses whatever is not clearly one (RFC 9112).
///
/// Every line is judged as soon as it is complete, so a peer that speaks another protocol gets its
/// response without having to send an empty line. No byte is examined twice, however slowly bytes
/// arrive.
package struct RequestParser: Sendable {
  /// The result for the bytes so far.
  package enum Result: Sendable {
    /// No fault so far, but the head is not complete.
    case needMore
    /// A head, and the index after it.
    case complete(RequestHead, end: Int)
    /// There is a fault; the connection cannot be used any more.
    case refused(ProtocolProblem)
  }

  /// The number of empty lines before a request line that are skipped (RFC 9112 section 2.2).
  static let leadingLinesMax = 4

  private let limits: HTTPLimits
  /// All offsets count from the first byte that was given.
  private var lineStart = 0
  private var scanned = 0
  private var leadingLines = 0
  private var line: RequestLine?
  /// The offset of the request line, after any empty lines.
  private var headStart = 0
  private var fieldsStart = 0
  private var fields: [RequestHead.Field] = []

  /// Makes a parser for one head.
  package init(limits: HTTPLimits) {
    self.limits = limits
  }

  /// Whether any byte of the head has been seen (empty lines do not count).
  package var hasBegun: Bool { line != nil || scanned > lineStart }

  /// Whether the part of the request that has come shows the method HEAD, whether its head was
  /// refused or is incomplete.
  ///
  /// The response then has no body (RFC 9110 section 9.3.2).
  ///
  /// - Parameter range: The range of the last ``parse(_:_:)``.
  func isHead(_ buffer: [UInt8], _ range: Range<Int>) -> Bool {
    if let line { return line.method == .head }
    let start = range.lowerBound + lineStart
    return range.upperBound - start >= 5 && ASCII.equals(buffer, start..<start + 5, "HEAD ")
  }

  /// Continues with the bytes of a buffer.
  ///
  /// - Parameter range: It begins at the same byte of the stream in every call until the head is
  ///   complete, and reaches further each time.
  package mutating func parse(_ buffer: [UInt8], _ range: Range<Int>) -> Result {
    do throws(ProtocolProblem) {
      while let end = try nextLine(buffer, range) {
        let bytes = range.lowerBound + lineStart..<range.lowerBound + end
        let next = scanned
        if line != nil, !bytes.isEmpty {
          try takeField(buffer, bytes, base: range.lowerBound)
        } else if let line {
          let end = range.lowerBound + scanned
          let head = Array(buffer[range.lowerBound + headStart..<end])
          return .complete(try HeadReading.read(head, line, fields), end: end)
        } else {
          try takeRequestLine(buffer, bytes, base: range.lowerBound)
        }
        lineStart = next
      }
      return .needMore
    } catch {
      return .refused(error)
    }
  }

  /// The offset of the next line's end without its CRLF; nil if it has not arrived.
  private mutating func nextLine(
    _ buffer: [UInt8], _ range: Range<Int>
  ) throws(ProtocolProblem) -> Int? {
    let end = range.upperBound
    let index = Self.lineFeed(buffer, range.lowerBound + scanned..<end)
    let lineEnd = index - range.lowerBound
    let endsInCR = lineEnd > lineStart && buffer[index - 1] == 0x0D
    try checkLength(lineEnd, endsInCR: endsInCR)
    guard index < end else {
      scanned = lineEnd
      return nil
    }
    guard endsInCR else {
      throw .malformed("A line ends in a bare LF.")
    }
    scanned = lineEnd + 1
    return lineEnd - 1
  }

  /// The index of the first LF in a range; the range's end if there is none.
  private static func lineFeed(_ buffer: [UInt8], _ range: Range<Int>) -> Int {
    buffer.withUnsafeBytes { bytes in
      let bytes = UnsafeRawBufferPointer(rebasing: bytes[range])
      guard let start = bytes.baseAddress, let found = memchr(start, 0x0A, bytes.count) else {
        return range.upperBound
      }
      return range.lowerBound + (UnsafeRawPointer(found) - start)
    }
  }

  /// Checks a line against its limit before all of it has arrived.
  ///
  /// A CR at its end counts as part of the line's end, whether or not the LF has arrived.
  private func checkLength(_ end: Int, endsInCR: Bool) throws(ProtocolProblem) {
    let allowance = endsInCR ? 1 : 0
    if line == nil {
      guard end - lineStart - allowance <= limits.requestLineBytesMax else {
        throw ProtocolProblem(
          .targetTooLong, "The request line exceeds \(limits.requestLineBytesMax) bytes.")
      }
    } else if end - fieldsStart - allowance > limits.fieldBytesMax {
      throw ProtocolProblem(
        .fieldsTooLarge, "The fields exceed \(limits.fieldBytesMax) bytes.")
    }
  }

  private mutating func takeRequestLine(
    _ buffer: [UInt8], _ range: Range<Int>, base: Int
  ) throws(ProtocolProblem) {
    if range.isEmpty {
      leadingLines += 1
      guard leadingLines <= Self.leadingLinesMax else {
        throw .malformed("Too many empty lines before the request line.")
      }
      return
    }
    headStart = range.lowerBound - base
    line = try RequestLine(buffer, range)
    fieldsStart = scanned
  }

  private mutating func takeField(
    _ buffer: [UInt8], _ range: Range<Int>, base: Int
  ) throws(ProtocolProblem) {
    guard fields.count < limits.fieldCountMax else {
      throw ProtocolProblem(
        .fieldsTooLarge, "There are more than \(limits.fieldCountMax) fields.")
    }
    if fields.isEmpty { fields.reserveCapacity(12) }
    fields.append(try FieldLine.parse(buffer, range, origin: base + headStart))
  }
}
