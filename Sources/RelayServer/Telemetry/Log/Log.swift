import EventLoop
import Glibc
import RelayCore
import Synchronization

/// Writes what happened to a file descriptor, a line an event.
///
/// No body, header, token or other credential is ever handed to it. Of a second so many lines are
/// written as ``LineBudget`` allows, and the others are counted, so that a storm of events neither
/// fills a disk nor slows the relay. What is held back or left out is told of later on, by a timer
/// if nothing else is logged: no count is lost.
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

  /// The subject of a line that may repeat.
  private struct Subject: Hashable {
    var event: String
    var name: String
  }

  private struct State {
    var budget = LineBudget()
    var repeats = RepeatBook<Subject, LogLine>()
    var loop: EventLoop?
    var alarm = Alarm()
  }

  /// The delay before lines left out are reported, in milliseconds.
  private static let leftOutDelayMs: Int64 = 1000

  /// The ``LogConfiguration/Level/rank`` of the least important level that is written.
  private let leastRank: Atomic<Int>
  private let isText: Atomic<Bool>
  private let writesAccess: Atomic<Bool>
  private let descriptor: Int32
  private let state = Mutex(State())
  private let alarmTimer = AlarmTimer()

  /// Logs to a descriptor, which stays its owner's.
  ///
  /// - Parameter configuration: With the format `auto`, text on a terminal and JSON elsewhere.
  package init(_ configuration: LogConfiguration, descriptor: Int32) {
    leastRank = Atomic(configuration.level.rank)
    isText = Atomic(Self.isText(configuration.format, on: descriptor))
    writesAccess = Atomic(configuration.access)
    self.descriptor = descriptor
  }

  /// Writes other levels, or in another form, from now on.
  package func update(to configuration: LogConfiguration) {
    leastRank.store(configuration.level.rank, ordering: .relaxed)
    isText.store(Self.isText(configuration.format, on: descriptor), ordering: .relaxed)
    writesAccess.store(configuration.access, ordering: .relaxed)
  }

  /// Has a loop tell in time what was held back; until then it is told with another line.
  package func tellHeld(by loop: EventLoop) { state.withLock { $0.loop = loop } }

  private static func isText(_ format: LogConfiguration.Format, on descriptor: Int32) -> Bool {
    switch format {
    case .text: true
    case .json: false
    case .auto: isatty(descriptor) == 1
    }
  }

  // MARK: - What is written

  /// Whether lines of a level are written, for callers that would have to work for the fields.
  package func isOn(_ level: LogConfiguration.Level) -> Bool {
    level.rank >= leastRank.load(ordering: .relaxed)
  }

  /// Whether there is to be a line for each request.
  package var isAccessOn: Bool { writesAccess.load(ordering: .relaxed) }

  /// Logs an event that matters only to someone who looks for a fault.
  package func debug(_ event: StaticString, _ fields: Field...) {
    write(.debug, event, fields: fields)
  }

  /// Logs an event that an operator may want to know.
  package func info(_ event: StaticString, _ fields: Field...) {
    write(.info, event, fields: fields)
  }

  /// Logs an event that an operator should look at when there is time.
  package func warning(_ event: StaticString, _ fields: Field...) {
    write(.warning, event, fields: fields)
  }

  /// Logs an event that an operator should look at now.
  package func error(_ event: StaticString, _ fields: Field...) {
    write(.error, event, fields: fields)
  }

  /// Logs an event that may repeat: the first at once, and repeats by their number.
  ///
  /// - Parameter subject: What it is about. Of each event, repeats about one are held back.
  package func repeating(
    _ level: LogConfiguration.Level, _ event: StaticString, about subject: String,
    _ pace: RepeatPace = .usual, _ fields: Field...
  ) {
    guard isOn(level) else { return }
    let now = MonotonicClock.now()
    let line = LogLine(level: level, event: event, fields: fields)
    let (isNew, due) = state.withLock { state in
      let due = state.repeats.takeDue(at: now)
      let subject = Subject(event: event.description, name: subject)
      return (state.repeats.note(line.dated(), about: subject, pace, at: now), due)
    }
    tell(due)
    if isNew { write(line) } else { arm() }
  }

  /// A request was answered; written whatever the level is, where it is asked for.
  func access(_ fields: [Field]) {
    write(LogLine(level: .info, event: "request", fields: fields), as: .access)
  }

  /// Writes a line of a level.
  func write(_ level: LogConfiguration.Level, _ event: StaticString, fields: [Field]) {
    guard isOn(level) else { return }
    write(LogLine(level: level, event: event, fields: fields))
  }

  private func write(_ line: LogLine) { write(line, as: line.level.budget) }

  private func write(_ line: LogLine, as kind: LineBudget.Kind) {
    let now = MonotonicClock.now()
    let (isAllowed, leftOut) = state.withLock { state in
      (state.budget.take(kind, at: now), state.budget.takeLeftOut(at: now))
    }
    tell(leftOut)
    if isAllowed { put(line, kind) } else { arm() }
  }

  // MARK: - What was left out

  /// Whether the lines of a level are used up for this second: one would only be counted.
  func isFull(_ level: LogConfiguration.Level) -> Bool {
    let now = MonotonicClock.now()
    return state.withLock { $0.budget.isFull(level.budget, at: now) }
  }

  /// Counts lines of a level as left out.
  func leaveOut(_ count: Int, _ level: LogConfiguration.Level) {
    state.withLock { $0.budget.leaveOut(count, level.budget) }
    arm()
  }

  /// Tells all that was held back or left out; before nothing more is logged.
  package func tellRest() {
    let now = MonotonicClock.now()
    let (held, leftOut) = state.withLock { state in
      (state.repeats.takeAll(at: now), state.budget.takeAllLeftOut())
    }
    tell(held)
    tell(leftOut)
  }

  private func tell(_ held: [RepeatBook<Subject, LogLine>.Held]) {
    for held in held {
      var line = held.line
      line.fields += [
        ("repeated", .integer(Int64(held.count))),
        ("inSeconds", .integer((held.withinMs + 500) / 1000)),
      ]
      write(line)
    }
  }

  private func tell(_ leftOut: [(kind: LineBudget.Kind, count: Int64)]) {
    for (kind, count) in leftOut {
      let line = LogLine(
        level: .warning, event: "log lines were left out",
        fields: [("count", .integer(count)), ("of", .text(kind.label))])
      put(line, kind, standingFor: count)
    }
  }

  /// Sets a timer for what is to be told next, unless there is one that is early enough.
  private func arm() {
    let now = MonotonicClock.now()
    let set = state.withLock { state -> (alarm: Alarm.Setting, loop: EventLoop)? in
      guard let loop = state.loop else { return nil }
      let leftOutAt =
        state.budget.hasLeftOut ? now.adding(milliseconds: Self.leftOutDelayMs) : nil
      let next = [state.repeats.nextDue, leftOutAt].compactMap(\.self).min()
      return state.alarm.set(for: next).map { ($0, loop) }
    }
    guard let (alarm, loop) = set else { return }
    alarmTimer.set(alarm, on: loop) { [weak self] in self?.rang(alarm) }
  }

  private func rang(_ setting: Alarm.Setting) {
    guard state.withLock({ $0.alarm.rang(setting) }) else { return }
    let now = MonotonicClock.now()
    let (held, leftOut) = state.withLock { state in
      (state.repeats.takeDue(at: now), state.budget.takeLeftOut(at: now))
    }
    tell(held)
    tell(leftOut)
    arm()
  }

  // MARK: - Writing

  /// One `write` a line: lines of several threads do not mix (POSIX, for pipes up to PIPE_BUF).
  ///
  /// The log's reader may have stopped reading. Then the line is left out and counted, and nobody
  /// waits. The same holds for a line that is too long for a pipe to take in one piece, since
  /// writing it could block (pipe(7)).
  private func put(_ line: LogLine, _ kind: LineBudget.Kind, standingFor count: Int64 = 1) {
    // As other programs of the machine write it: a log is read beside theirs.
    let bytes = line.bytes(at: WallClock.machine(), isText: isText.load(ordering: .relaxed))
    guard bytes.count <= Self.lineBytesMax, hasRoom else {
      state.withLock { $0.budget.leaveOut(Int(count), kind) }
      return arm()
    }
    var rest = bytes[...]
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
