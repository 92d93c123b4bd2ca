/// Parses a stream of server-sent events (WHATWG HTML, section 9.2).
final class EventReader {
  struct Event: Equatable {
    var name = "message"
    var id: String?
    var data = ""
  }

  /// The ID of the event after which a new stream goes on.
  var lastID: String?
  /// The number of pieces that have been taken in all.
  private(set) var pieceCount = 0
  /// Whether an event came that is longer than the limit.
  private(set) var isTooLong = false
  private var line: [UInt8] = []
  private var event = Event()
  private let tell: (Event) -> Void
  private let eventBytesMax: Int

  /// - Parameters:
  ///   - eventBytesMax: The longest line, and the longest data of one event; a relay's are far
  ///     shorter than the default.
  ///   - tell: Called with each event.
  init(eventBytesMax: Int = 16 << 20, _ tell: @escaping (Event) -> Void) {
    self.eventBytesMax = eventBytesMax
    self.tell = tell
  }

  /// Begins a new stream, and drops an event that was not complete.
  func begin() {
    line = []
    event = Event()
  }

  /// Takes the next bytes of the stream.
  ///
  /// - Returns: Whether to go on; false once an event is longer than the limit.
  func take(_ piece: some Sequence<UInt8>) -> Bool {
    pieceCount += 1
    for byte in piece where !isTooLong {
      if byte == 0x0A {
        end()
      } else if byte != 0x0D {
        line.append(byte)
        isTooLong = line.count > eventBytesMax
      }
    }
    return !isTooLong
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
    case "data":
      event.data += event.data.isEmpty ? text : "\n" + text
      isTooLong = event.data.utf8.count > eventBytesMax
    default: break
    }
  }
}
