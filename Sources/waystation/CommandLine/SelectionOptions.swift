import EventLoop
import RelayCore

/// The options by which envelopes are selected, and what the relay calls them.
enum SelectionOptions {
  /// A kind of option.
  private enum Form { case word, state, status, time }

  private struct Field {
    /// The name in a query, and in the filter of an operation.
    let name: String
    let form: Form
    let rule: OptionRule
  }

  private static let states = EnvelopeState.allCases.map(\.rawValue)

  private static let fields: [Field] = [
    name("client", "--client", .clients, "only this client's"),
    name("lane", "--lane", .laneNames, "only of lanes of this name"),
    Field(
      name: "state", form: .state,
      rule: .choices(
        "--state", states,
        "only in one of these states, with commas between: " + states.joined(separator: ", "))),
    name("upstream", "--upstream", .upstreams, "only for this upstream"),
    word("tag", "--tag", "TAG", "only with this tag"),
    Field(
      name: "status", form: .status,
      rule: .text("--status", "CODE", "only those that the upstream answered so last")),
    word("reason", "--reason", "TEXT", "only those whose reason has this text in it"),
    word("errorId", "--error-id", "ID", "only those that the upstream refused with this error"),
    time("endedSince", "--since", "only what ended then or later: 1h, 7d, or a time (RFC 3339)"),
    time("endedUntil", "--until", "only what ended before that"),
    time("acceptedSince", "--accepted-since", "only what was accepted then or later"),
    time("acceptedUntil", "--accepted-until", "only what was accepted before that"),
    Field(
      name: "discarded", form: .word,
      rule: .choice(
        "--discarded", ["true", "false"], "only what somebody discarded, or only the others")),
  ]

  private static func word(
    _ name: String, _ option: String, _ value: String, _ help: String
  ) -> Field {
    Field(name: name, form: .word, rule: .text(option, value, help))
  }

  private static func name(
    _ name: String, _ option: String, _ kind: NameKind, _ help: String
  ) -> Field {
    Field(name: name, form: .word, rule: .name(option, kind, help))
  }

  private static func time(_ name: String, _ option: String, _ help: String) -> Field {
    Field(name: name, form: .time, rule: .text(option, "TIME", help))
  }

  /// The options, as the parser and the help know them.
  static let rules = fields.map(\.rule)

  /// The names and values of those that were given, as the relay reads them.
  ///
  /// - Parameter now: The time that a span of time counts back from.
  static func given(
    _ options: OptionReader, now: WallTime
  ) throws(UsageError) -> [(name: String, value: String)] {
    var given: [(name: String, value: String)] = []
    for field in fields {
      let name = field.rule.name
      if field.form == .time {
        let time = try options.value(name, expected: TimeText.form) {
          TimeText.time($0, before: now)
        }
        if let time { given.append((field.name, RFC3339.format(time))) }
      } else if field.form == .state {
        let text = try options.value(
          name, expected: "states with commas between, of " + states.joined(separator: ", ")
        ) { text in
          text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy {
            states.contains(String($0))
          } ? text : nil
        }
        if let text { given.append((field.name, text)) }
      } else if field.form == .status {
        let code = try options.value(name, expected: "a status code, from 100 to 599") { text in
          Int(text).flatMap { (100...599).contains($0) ? text : nil }
        }
        if let code { given.append((field.name, code)) }
      } else if let text = options.text(name) {
        given.append((field.name, text))
      }
    }
    return given
  }
}

/// Times as written on a command line: a time of RFC 3339, or a span of time from now.
enum TimeText {
  /// The form of such a text, as a part of a sentence.
  static let form = "a time such as 2026-03-01T12:00:00Z, or how long ago, such as 30m, 1h or 7d"
  /// The same for a time to come.
  static let formAhead =
    "a time such as 2026-03-01T12:00:00Z, or how far from now, such as 30m, 1h or 7d"
  /// The form of a span of time.
  static let formOfSpan = "a span of time such as 90s, 30m, 1h or 7d"
  /// The longest span of time that is accepted, in days.
  private static let daysMax: Int64 = 36_500

  /// The time that a text stands for, in which a span of time counts back; nil if it is none.
  static func time(_ text: String, before now: WallTime) -> WallTime? {
    RFC3339.parse(Array(text.utf8)) ?? span(text).map { now.adding(milliseconds: -$0) }
  }

  /// The time that a text stands for, in which a span of time counts on; nil if it is none.
  static func time(_ text: String, after now: WallTime) -> WallTime? {
    RFC3339.parse(Array(text.utf8)) ?? span(text).map { now.adding(milliseconds: $0) }
  }

  /// The span of time that a text stands for, in milliseconds; nil if it is none.
  static func span(_ text: String) -> Int64? {
    if text.hasSuffix("d"), let days = Int64(text.dropLast()), (0...daysMax).contains(days) {
      return days * DurationText.millisecondsMax
    }
    return DurationText.milliseconds(text)
  }
}
