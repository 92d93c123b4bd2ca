import EventLoop
import RelayCore

/// The options of `send` that say one envelope, and the fields that they become.
enum SendOptions {
  /// The form of an option's value.
  enum Form {
    case text, number, flag, time, span, headers
    /// The body: bytes of a file, JSON of a file, or the text itself.
    case bytes, json, words
  }

  /// One option.
  struct Field {
    /// The field's name in JSON.
    let name: String
    let form: Form
    let rule: OptionRule
  }

  /// The sequence numbers that there are.
  static let sequences: ClosedRange<Int> = 1...9_007_199_254_740_991

  static let fields: [Field] = [
    name("client", .clients, "the client; with --file, for lines that name none"),
    name("upstream", .upstreams, "where it goes"),
    text("method", "METHOD", "the request's method (POST)"),
    text("path", "PATH", "the request's path and query"),
    Field(
      name: "headers", form: .headers,
      rule: .text("--header", "'NAME: VALUE'", "a header field", isRepeatable: true)),
    Field(
      name: "bodyBase64", form: .bytes,
      rule: .file("--body", "the body, from this file; - for standard input")),
    Field(
      name: "body", form: .json,
      rule: .file(
        "--body-json", "the body, as JSON from this file, with its Content-Type; - likewise")),
    Field(
      name: "body", form: .words,
      rule: .text("--body-text", "TEXT", "the body, as this text, with its Content-Type")),
    name("lane", .laneNames, "the lane"),
    Field(
      name: "sequence", form: .number,
      rule: .text("--sequence", "NUMBER", "the sender's own number within the lane, from 1")),
    text("tag", "TAG", "the tag"),
    text("key", "KEY", "the sender's own key: posting it again stores nothing twice"),
    Field(
      name: "hold", form: .flag, rule: .flag("--hold", "make it wait until someone runs it")),
    time("notBefore", "--not-before", "do not attempt it before: 10m, 1h, or a time (RFC 3339)"),
    time("expiresAt", "--expires-at", "give up then: 1h, 7d, or a time (the upstream's deadline)"),
    span(
      "notBeforeIn", "--not-before-in", "the same, from when it was made, by the relay's clock"),
    span("expiresIn", "--expires-in", "the same, from when it was made, by the relay's clock"),
    span("age", "--age", "how long ago it was made: 90s, 2h (just now)"),
    Field(
      name: "onFailure", form: .text,
      rule: .choice(
        "--on-failure", ["skip", "block"],
        "what becomes of the lane if the upstream refuses it (the upstream's)")),
    text("coalesce", "NAME", "take the place of the one of this name that still waits in the lane"),
    Field(
      name: "references", form: .flag,
      rule: .flag("--references", "fill in {{response:KEY#/pointer}} from earlier answers")),
    Field(
      name: "inOrder", form: .flag,
      rule: .flag("--in-order", "do not wait for missing numbers below --sequence")),
    Field(
      name: "void", form: .flag,
      rule: .flag("--void", "post no envelope: the lane is not to wait for --sequence")),
  ]

  /// The options, as the parser and the help know them.
  static let rules = fields.map(\.rule)

  private static func text(_ name: String, _ value: String, _ help: String) -> Field {
    Field(name: name, form: .text, rule: .text("--\(name)", value, help))
  }

  private static func name(_ name: String, _ kind: NameKind, _ help: String) -> Field {
    Field(name: name, form: .text, rule: .name("--\(name)", kind, help))
  }

  private static func time(_ name: String, _ option: String, _ help: String) -> Field {
    Field(name: name, form: .time, rule: .text(option, "TIME", help))
  }

  private static func span(_ name: String, _ option: String, _ help: String) -> Field {
    Field(name: name, form: .span, rule: .text(option, "SPAN", help))
  }

  /// Checks all that can be checked without calling the relay.
  static func check(_ options: OptionReader) throws(UsageError) {
    let given = fields.map(\.rule.name).filter { options.has($0) }
    if options.has("--file") {
      if let other = given.first(where: { $0 != "--client" }) {
        throw UsageError("\(other) is for one envelope, and --file posts many", to: .send)
      }
    } else if options.text("--path") == nil, !options.has("--void") {
      throw UsageError("give --path for one envelope, or --file for many", to: .send)
    }
    let bodies = given.filter { $0.hasPrefix("--body") }
    guard bodies.count < 2 else {
      throw UsageError("\(bodies[0]) and \(bodies[1]) both say the body; give one", to: .send)
    }
    _ = try sequence(options)
    for field in fields where field.form == .time {
      _ = try time(field, options, now: WallClock.now())
    }
    for field in fields where field.form == .span { _ = try seconds(field, options) }
  }

  /// The sequence number that was given, if any.
  static func sequence(_ options: OptionReader) throws(UsageError) -> Int? {
    try options.value("--sequence", expected: "a whole number from 1 on") {
      Int($0).flatMap { sequences.contains($0) ? $0 : nil }
    }
  }

  /// The span of time that an option stands for, in seconds, if it was given.
  static func seconds(_ field: Field, _ options: OptionReader) throws(UsageError) -> Int? {
    try options.value(field.rule.name, expected: TimeText.formOfSpan) {
      TimeText.span($0).map { Int($0 / 1000) }
    }
  }

  /// The time that an option stands for, if it was given.
  ///
  /// - Parameter now: The time from which a span of time counts.
  static func time(
    _ field: Field, _ options: OptionReader, now: WallTime
  ) throws(UsageError) -> WallTime? {
    try options.value(field.rule.name, expected: TimeText.formAhead) {
      TimeText.time($0, after: now)
    }
  }
}
