import EventLoop
import JSON
import RelayCore

/// An event, as the log writes it.
struct LogLine: Sendable {
  var level: LogConfiguration.Level
  var event: StaticString
  var fields: [Log.Field]

  /// The same, saying when it happened: for a line that is written later.
  func dated() -> LogLine {
    var line = self
    line.fields.append(("latestAt", .text(RFC3339.format(WallClock.machine()))))
    return line
  }

  /// The line as bytes, with its end.
  func bytes(at time: WallTime, isText: Bool) -> [UInt8] {
    (isText ? text(time) : json(time)) + [0x0A]
  }

  private func json(_ time: WallTime) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("time", RFC3339.format(time))
      json.member("level", level.rawValue)
      json.member("event", event.description)
      for field in fields {
        switch field.value {
        case .text(let text): json.member(field.name.description, text)
        case .integer(let number): json.member(field.name.description, number)
        }
      }
    }
    return json.finish()
  }

  private func text(_ time: WallTime) -> [UInt8] {
    var line = "\(RFC3339.format(time)) \(level.rawValue) \(event)"
    for field in fields {
      switch field.value {
      case .text(let text): line += "  \(field.name): \(Self.printable(text))"
      case .integer(let number): line += "  \(field.name): \(number)"
      }
    }
    return Array(line.utf8)
  }

  /// Control characters could move a terminal's cursor or forge a line.
  private static func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
  }
}

extension LogConfiguration.Level {
  /// The higher, the more important.
  var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }

  /// The budget that its lines use.
  var budget: LineBudget.Kind {
    switch self {
    case .debug, .info: .course
    case .warning, .error: .trouble
    }
  }
}
