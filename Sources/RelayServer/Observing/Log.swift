import EventLoop
import Glibc
import JSON
import RelayCore
import Synchronization

/// Writes what happened to a file descriptor, a line an event.
///
/// No body, header, token or other credential is ever handed to it. Past ``linesPerSecondMax`` the
/// lines of a second are counted and left out, so that a storm of events neither fills a disk nor
/// slows the relay.
package final class Log: Sendable {
  /// A value of a field.
  package enum Value: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// Text.
    case text(String)
    /// A whole number.
    case integer(Int64)

    /// Text.
    package init(stringLiteral value: String) { self = .text(value) }
    /// A number.
    package init(integerLiteral value: Int64) { self = .integer(value) }
  }

  /// A name and its value.
  package typealias Field = (name: StaticString, value: Value)

  /// The most lines of one second; more are counted and left out.
  package static let linesPerSecondMax = 500

  /// The ``LogConfiguration/Level/rank`` of the least important level that is written.
  private let leastRank: Atomic<Int>
  private let isText: Atomic<Bool>
  private let descriptor: Int32
  private let throttle = Mutex(LogThrottle())

  /// Logs to a descriptor, which stays its owner's.
  ///
  /// - Parameters:
  ///   - level: The least important level that is written.
  ///   - format: With `auto`, text on a terminal and JSON elsewhere.
  package init(
    level: LogConfiguration.Level, format: LogConfiguration.Format, descriptor: Int32
  ) {
    leastRank = Atomic(level.rank)
    isText = Atomic(Self.isText(format, on: descriptor))
    self.descriptor = descriptor
  }

  /// Writes other levels, or in another form, from now on.
  package func go(by configuration: LogConfiguration) {
    leastRank.store(configuration.level.rank, ordering: .relaxed)
    isText.store(Self.isText(configuration.format, on: descriptor), ordering: .relaxed)
  }

  private static func isText(_ format: LogConfiguration.Format, on descriptor: Int32) -> Bool {
    switch format {
    case .text: true
    case .json: false
    case .auto: isatty(descriptor) == 1
    }
  }

  /// Whether lines of a level are written, for callers that would have to work for the fields.
  package func isOn(_ level: LogConfiguration.Level) -> Bool {
    level.rank >= leastRank.load(ordering: .relaxed)
  }

  /// Whether the lines of this second are used up: one that is written now is only counted.
  package var isFull: Bool {
    let now = WallClock.machine()
    return throttle.withLock { $0.isFull(at: now) }
  }

  /// What only matters to someone who looks for a fault.
  package func debug(_ event: StaticString, _ fields: Field...) { write(.debug, event, fields) }

  /// What an operator may want to know.
  package func info(_ event: StaticString, _ fields: Field...) { write(.info, event, fields) }

  /// What an operator should look at when there is time.
  package func warning(_ event: StaticString, _ fields: Field...) {
    write(.warning, event, fields)
  }

  /// What an operator should look at now.
  package func error(_ event: StaticString, _ fields: Field...) { write(.error, event, fields) }

  private func write(_ level: LogConfiguration.Level, _ event: StaticString, _ fields: [Field]) {
    guard isOn(level) else { return }
    // As other programs of the machine write it: a log is read beside theirs.
    let now = WallClock.machine()
    let (isAllowed, leftOut) = throttle.withLock { $0.admit(at: now) }
    if leftOut > 0 {
      put(line(now, .warning, "log lines were left out", [("count", .integer(leftOut))]))
    }
    if isAllowed { put(line(now, level, event, fields)) }
  }

  private func line(
    _ time: WallTime, _ level: LogConfiguration.Level, _ event: StaticString, _ fields: [Field]
  ) -> [UInt8] {
    isText.load(ordering: .relaxed)
      ? text(time, level, event, fields) : json(time, level, event, fields)
  }

  private func json(
    _ time: WallTime, _ level: LogConfiguration.Level, _ event: StaticString, _ fields: [Field]
  ) -> [UInt8] {
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
    return json.finish() + [0x0A]
  }

  private func text(
    _ time: WallTime, _ level: LogConfiguration.Level, _ event: StaticString, _ fields: [Field]
  ) -> [UInt8] {
    var line = "\(RFC3339.format(time)) \(level.rawValue) \(event)"
    for field in fields {
      switch field.value {
      case .text(let text): line += "  \(field.name): \(Self.printable(text))"
      case .integer(let number): line += "  \(field.name): \(number)"
      }
    }
    return Array(line.utf8) + [0x0A]
  }

  /// Control characters could move a terminal's cursor or forge a line.
  private static func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
  }

  /// One `write` a line: lines of several threads do not mix (POSIX, for pipes up to PIPE_BUF).
  ///
  /// What reads the log may have stopped reading: then the line is left out and counted, and nobody
  /// waits. So is one that is too long for a pipe to take in one piece, which could make one wait
  /// after all (pipe(7)).
  private func put(_ line: [UInt8]) {
    guard line.count <= Self.lineBytesMax, hasRoom else {
      return throttle.withLock { $0.leftOutCount += 1 }
    }
    var rest = line[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      // A log that cannot be written is no reason to stop relaying; there is nobody to tell.
      guard count > 0 || (count < 0 && errno == EINTR) else { return }
      rest = rest.dropFirst(max(count, 0))
    }
  }
}

extension Log {
  /// The longest line, in bytes: what a pipe takes in one piece (PIPE_BUF on Linux).
  static let lineBytesMax = 4096

  /// Whether a line can be written without waiting.
  private var hasRoom: Bool {
    var target = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&target, 1, 0) > 0 && target.revents & Int16(POLLOUT) != 0
  }
}

/// Counts the lines of the present second.
private struct LogThrottle {
  var second: Int64 = 0
  var lineCount = 0
  var leftOutCount: Int64 = 0

  func isFull(at now: WallTime) -> Bool {
    now.millisecondsSinceEpoch / 1000 == second && lineCount >= Log.linesPerSecondMax
  }

  mutating func admit(at now: WallTime) -> (isAllowed: Bool, leftOut: Int64) {
    let second = now.millisecondsSinceEpoch / 1000
    var leftOut: Int64 = 0
    if second != self.second {
      leftOut = leftOutCount
      self = Self(second: second)
    }
    lineCount += 1
    guard lineCount <= Log.linesPerSecondMax else {
      leftOutCount += 1
      return (false, leftOut)
    }
    return (true, leftOut)
  }
}

extension LogConfiguration.Level {
  fileprivate var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}
