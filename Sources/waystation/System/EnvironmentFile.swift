/// A file of variables, as systemd reads it for a unit (systemd.exec(5), `EnvironmentFile=`).
struct EnvironmentFile: Equatable {
  /// A file that systemd would not read at all, with the reason.
  struct Fault: Error, Equatable {
    let reason: String
  }

  /// The longest such file, in bytes.
  static let bytesMax = 1 << 20

  /// The variables by their names; of several assignments the last counts.
  private(set) var variables: [String: String] = [:]
  /// The numbers of the lines that systemd leaves out, since they assign nothing to a variable.
  private(set) var ignoredLines: [Int] = []

  private enum State {
    case beforeName, name, beforeValue, value, valueEscape, single, double, doubleEscape
    case comment
  }

  private var state = State.beforeName
  private var line = 1
  private var startLine = 1
  private var name: [UInt8] = []
  private var text: [UInt8] = []
  /// The length of the value without the blanks at its end; nil if it has none there.
  private var trimmedCount: Int?

  /// Parses a file, step by step as `parse_env_file` of systemd 254 does.
  init(_ bytes: [UInt8]) throws(Fault) {
    guard bytes.count <= Self.bytesMax else {
      throw Fault(reason: "has more than \(Self.bytesMax) bytes")
    }
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
      throw Fault(reason: "is not UTF-8 text, and systemd does not take it")
    }
    for byte in bytes {
      take(byte)
      if byte == 0x0A { line += 1 }
    }
    switch state {
    case .beforeName, .comment: break
    case .name: ignoredLines.append(startLine)
    default: assign()
    }
  }

  private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || isLineEnd(byte)
  }

  private mutating func take(_ byte: UInt8) {
    switch state {
    case .beforeName: begin(byte)
    case .comment: if Self.isLineEnd(byte) { state = .beforeName }
    case .name: takeName(byte)
    case .beforeValue: takeFirst(byte)
    case .value: takeValue(byte)
    case .valueEscape:
      state = .value
      if !Self.isLineEnd(byte) { text.append(byte) }
    case .single: if byte == UInt8(ascii: "'") { state = .beforeValue } else { text.append(byte) }
    case .double:
      switch byte {
      case UInt8(ascii: "\""): state = .beforeValue
      case UInt8(ascii: "\\"): state = .doubleEscape
      default: text.append(byte)
      }
    case .doubleEscape:
      state = .double
      if "\"\\`$".utf8.contains(byte) {
        text.append(byte)
      } else if byte != 0x0A {
        text += [UInt8(ascii: "\\"), byte]
      }
    }
  }

  private mutating func begin(_ byte: UInt8) {
    if byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";") {
      state = .comment
    } else if !Self.isBlank(byte) {
      state = .name
      startLine = line
      name = [byte]
      text = []
      trimmedCount = nil
    }
  }

  private mutating func takeName(_ byte: UInt8) {
    if Self.isLineEnd(byte) {
      ignoredLines.append(startLine)
      state = .beforeName
    } else if byte == UInt8(ascii: "=") {
      state = .beforeValue
    } else {
      name.append(byte)
    }
  }

  private mutating func takeFirst(_ byte: UInt8) {
    switch byte {
    case _ where Self.isLineEnd(byte): assign()
    case UInt8(ascii: "'"): state = .single
    case UInt8(ascii: "\""): state = .double
    case UInt8(ascii: "\\"): state = .valueEscape
    case _ where Self.isBlank(byte): break
    default:
      state = .value
      text.append(byte)
    }
  }

  private mutating func takeValue(_ byte: UInt8) {
    if Self.isLineEnd(byte) { return assign() }
    if byte == UInt8(ascii: "\\") {
      state = .valueEscape
      trimmedCount = nil
      return
    }
    trimmedCount = Self.isBlank(byte) ? trimmedCount ?? text.count : nil
    text.append(byte)
  }

  private mutating func assign() {
    if state == .value, let trimmedCount { text.removeSubrange(trimmedCount...) }
    state = .beforeName
    while let last = name.last, Self.isBlank(last) { name.removeLast() }
    guard let first = name.first, !(0x30...0x39).contains(first), name.allSatisfy(Self.isNameByte)
    else { return ignoredLines.append(startLine) }
    variables[String(decoding: name, as: UTF8.self)] = String(decoding: text, as: UTF8.self)
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
