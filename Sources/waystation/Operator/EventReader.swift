/// Takes a stream of server-sent events apart (WHATWG HTML, section 9.2).
final class EventReader {
  struct Event: Equatable {
    var name = "message"
    var id: String?
    var data = ""
  }

  /// What to go on behind.
  var lastID: String?
  /// How many pieces have come in all.
  private(set) var pieceCount = 0
  private var line: [UInt8] = []
  private var event = Event()
  private let tell: (Event) -> Void
  /// The longest line that is kept; a relay's are far shorter.
  private static let lineBytesMax = 64 << 20

  init(_ tell: @escaping (Event) -> Void) { self.tell = tell }

  /// A new stream begins: what was not whole is dropped.
  func begin() {
    line = []
    event = Event()
  }

  func take(_ piece: some Sequence<UInt8>) {
    pieceCount += 1
    for byte in piece {
      if byte == 0x0A {
        end()
      } else if byte != 0x0D, line.count < Self.lineBytesMax {
        line.append(byte)
      }
    }
  }

  private func end() {
    defer { line.removeAll(keepingCapacity: true) }
    guard !line.isEmpty else {
      if let id = event.id { lastID = id }
      if !event.data.isEmpty { tell(event) }
      event = Event()
      return
    }
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == 0x20 { value = value.dropFirst() }
    let text = String(decoding: value, as: UTF8.self)
    switch String(decoding: line[..<colon], as: UTF8.self) {
    case "event": event.name = text
    case "id": event.id = text
    case "data": event.data += event.data.isEmpty ? text : "\n" + text
    default: break
    }
  }
}
