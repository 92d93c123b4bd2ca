import JSON

/// Text in the form of server-sent events (WHATWG HTML, section 9.2.5 "Parsing an event stream").
struct EventText {
  /// The bytes written so far.
  private(set) var bytes: [UInt8] = []

  /// Begins empty.
  init() {}

  /// Writes an event.
  ///
  /// - Parameters:
  ///   - id: What to give back as `Last-Event-ID`; nil for an event that moves nothing on.
  ///   - data: A JSON object, which has no line break.
  mutating func event(_ name: String, id: String? = nil, data: [UInt8]) {
    line("event", name)
    if let id { line("id", id) }
    bytes.append(contentsOf: "data: ".utf8)
    bytes.append(contentsOf: data)
    bytes.append(contentsOf: "\n\n".utf8)
  }

  /// Writes how long to wait before coming back, in milliseconds.
  mutating func retry(afterMs milliseconds: Int64) {
    line("retry", String(milliseconds))
    bytes.append(0x0A)
  }

  /// Writes something that is no event: it shows that the connection is alive, and moves the
  /// listener's `Last-Event-ID` past what its filter has left out.
  mutating func sign(id: String) {
    bytes.append(contentsOf: ":\n".utf8)
    line("id", id)
    bytes.append(0x0A)
  }

  /// Writes something that is no event, and has no id: it shows that the connection is alive.
  mutating func comment() { bytes.append(contentsOf: ":\n\n".utf8) }

  private mutating func line(_ field: String, _ value: String) {
    bytes.append(contentsOf: field.utf8)
    bytes.append(contentsOf: ": ".utf8)
    bytes.append(contentsOf: value.utf8)
    bytes.append(0x0A)
  }
}
