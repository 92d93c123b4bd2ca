import EventLoop
import Forwarder
import Glibc
import JSON
import RelayCore

/// `waystation envelopes`: lists, shows, edits and settles envelopes.
struct EnvelopesCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    switch context.order.action {
    case "list": return try list()
    case "show": return try show()
    case "body": return try body()
    case "edit": return try edit()
    case "replay": return try operate("replay", context.selection())
    default: return try settle()
    }
  }

  // MARK: - Looking

  private func list() throws(OperatorFailure) -> ExitCode {
    let now = WallClock.now()
    var table = TextTable(
      "ID", "STATE", "CLIENT/LANE", "REQUEST", "#ATTEMPTS", "AGE", "NEXT", "WHAT WENT WRONG")
    let isMore = try pages { page throws(OperatorFailure) in
      for envelope in page {
        guard !context.isJSON else {
          context.say(envelope.line)
          continue
        }
        table.add(Self.row(envelope, now: now))
      }
    }
    if !context.isJSON {
      if table.isEmpty { context.say("no envelopes") } else { context.say(table) }
    }
    context.noteMore(isMore)
    return .good
  }

  /// Gives out the envelopes that the options select.
  ///
  /// - Returns: Whether there are more.
  private func pages(
    _ take: ([JSONObject]) throws(OperatorFailure) -> Void
  ) throws(OperatorFailure) -> Bool {
    if let key = context.options.text("--key") {
      if let envelope = try envelope(under: key) { try take([envelope]) }
      return false
    }
    let list = PagedList(
      relay: relay, path: "/v1/envelopes",
      filter: [try context.selectionQuery()].filter { !$0.isEmpty }, member: "envelopes")
    return try list.pages(limit: try context.limit()) { page, _ throws(OperatorFailure) in
      try take(page)
    }
  }

  /// The envelope that a client posted under a key; nil if there is none.
  private func envelope(under key: String) throws(OperatorFailure) -> JSONObject? {
    let path = try path(of: key)
    do throws(OperatorFailure) {
      return try relay.object("GET", path)
    } catch {
      guard error.kind == "unknown-envelope" else { throw error }
      return nil
    }
  }

  /// The path of the envelope that a client posted under a key.
  private func path(of key: String) throws(OperatorFailure) -> String {
    let selection = try context.selection()
    guard selection.count == 1, let client = selection.first, client.name == "client" else {
      throw OperatorFailure(
        reason: "a key is one client's: give --key with --client, and with no other option that"
          + " selects", code: .usage)
    }
    let names = [client.value, key].map { CommandContext.segment($0) }
    return "/v1/clients/\(names[0])/envelopes/\(names[1])"
  }

  private static func row(_ envelope: JSONObject, now: WallTime) -> [TextTable.Cell] {
    let state = envelope.text("state") ?? "?"
    return [
      .init(envelope.text("id")), .init(state, style(of: state)),
      .init("\(envelope.text("client") ?? "?")/\(envelope.text("lane") ?? "?")"),
      .init("\(envelope.text("method") ?? "?") \(envelope.text("path") ?? "?")"),
      .init("\(envelope.number("attemptCount"))"),
      .init(HumanText.age(envelope.text("acceptedAt"), now: now)),
      .init(HumanText.wait(envelope.text("nextAttemptAt"), now: now)),
      .init(trouble(envelope, state)),
    ]
  }

  /// What went wrong: nothing, of what was delivered.
  private static func trouble(_ envelope: JSONObject, _ state: String) -> String? {
    guard state != "delivered" else { return nil }
    guard let reason = envelope.text("reason") else { return envelope.text("lastError") }
    // The last attempt may tell the same with the upstream's words.
    return envelope.text("lastError").flatMap { $0.hasPrefix(reason) ? $0 : nil } ?? reason
  }

  static func style(of state: String) -> Terminal.Style? {
    switch EnvelopeState(rawValue: state) {
    case .delivered: .good
    case .blocked, .failed, .expired: .bad
    case .held, .parked, .cancelled: .warning
    case .queued, .delivering, nil: nil
    }
  }

  private func show() throws(OperatorFailure) -> ExitCode {
    let envelope = try shown()
    let id = envelope.text("id") ?? ""
    guard !id.isEmpty, id.utf8.allSatisfy(TokenText.isPathByte) else { throw .notARelay }
    let answer = try answer(to: envelope, id)
    guard !context.isJSON else {
      context.say(Self.line(envelope, answer))
      return .good
    }
    let story = EnvelopeDetails(
      envelope: envelope, answer: answer,
      nextRelay: try answer?.nextID == nil ? nil : url(of: envelope.text("upstream") ?? ""),
      serverOption: context.serverOption,
      terminal: context.terminal, now: WallClock.now())
    context.say(story.lines().joined(separator: "\n"))
    return .good
  }

  /// The envelope of an id, or of a client's key.
  private func shown() throws(OperatorFailure) -> JSONObject {
    guard let key = context.options.text("--key") else {
      guard context.options.text("--client") == nil else {
        throw OperatorFailure(reason: "give --client with --key", code: .usage)
      }
      return try relay.object("GET", "/v1/envelopes/\(try oneID())")
    }
    guard context.options.operands.isEmpty else {
      throw OperatorFailure(reason: "give an id, or --client and --key", code: .usage)
    }
    return try relay.object("GET", try path(of: key))
  }

  private func oneID() throws(OperatorFailure) -> String {
    let given = try ids()
    guard given.count == 1, let id = given.first else {
      throw OperatorFailure(reason: "\(context.order.action) takes one id", code: .usage)
    }
    return id
  }

  /// Writes the body as it is, with nothing before or after it.
  private func body() throws(OperatorFailure) -> ExitCode {
    let id = try oneID()
    let answer = try relay.send(
      "GET", "/v1/envelopes/\(id)/body", fields: [], timeoutMs: nil
    ) { status, piece in
      if status == 200 { StandardStream.output.write(Array(piece)) }
      return true
    }
    guard answer.status == 200 else {
      // What it says of that is asked for once more, since it was not to be written.
      throw try failure(of: "/v1/envelopes/\(id)/body")
    }
    return .good
  }

  private func failure(of target: String) throws(OperatorFailure) -> OperatorFailure {
    _ = try relay.call("GET", target)
    return .notARelay
  }

  /// The URL of an upstream; nil if it is not configured any more.
  private func url(of upstream: String) throws(OperatorFailure) -> String? {
    try relay.object("GET", "/v1/upstreams").objects("upstreams")
      .first { $0.text("name") == upstream }?.text("url")
  }

  /// The upstream's answer to an envelope; nil if none is kept.
  private func answer(
    to envelope: JSONObject, _ id: String
  ) throws(OperatorFailure) -> EnvelopeAnswer? {
    guard envelope.optionalNumber("responseStatus") != nil else { return nil }
    do throws(OperatorFailure) {
      return EnvelopeAnswer(try relay.response("GET", "/v1/envelopes/\(id)/response"))
    } catch {
      // It may have been put back in line, or forgotten, since.
      guard error.status == 404 else { throw error }
      return nil
    }
  }

  /// The envelope with the answer as a member of it, as one line of JSON.
  private static func line(_ envelope: JSONObject, _ answer: EnvelopeAnswer?) -> String {
    guard let answer else { return envelope.line }
    var json = JSONWriter()
    json.object { json in
      for member in envelope { json.member(member.name.string, raw: member.value.raw) }
      json.member("response") { answer.write(to: &$0) }
    }
    return SafeText.json(json.finish())
  }

  // MARK: - Settling

  /// Settles the envelopes that are named, or all that the options select, in one operation.
  private func settle() throws(OperatorFailure) -> ExitCode {
    let selection = try context.selection()
    guard !selection.isEmpty else {
      guard !context.options.operands.isEmpty else { return try operate("", []) }
      return try settleAll()
    }
    guard context.options.operands.isEmpty else {
      throw OperatorFailure(reason: "give ids, or options that select, and not both", code: .usage)
    }
    let state = selection.first { $0.name == "state" }?.value
    switch (context.order.action, state) {
    case ("retry", nil), ("retry", "blocked"): return try operate("retry", selection)
    case ("retry", "queued"), ("retry", "delivering"):
      throw OperatorFailure(
        reason: "what waits for its next attempt is tried at once by 'waystation upstreams probe"
          + " NAME', or by ids", code: .usage)
    case ("retry", "held"):
      throw OperatorFailure(reason: "what is held is tried by ids", code: .usage)
    case ("retry", "parked"):
      throw OperatorFailure(
        reason: "what is parked waits for missing numbers, and goes on without them by"
          + " 'waystation lanes skip CLIENT/LANE'", code: .usage)
    case ("discard", nil), ("discard", "blocked"): return try operate("discard", selection)
    case ("discard", _), ("cancel", _): return try operate("cancel", selection)
    default: return try operate("requeue", selection)
    }
  }

  private func operate(
    _ action: String, _ selection: [(name: String, value: String)]
  ) throws(OperatorFailure) -> ExitCode {
    guard !selection.isEmpty else {
      throw OperatorFailure(
        reason: "say which: ids, or --client, --upstream, --since or another option that selects",
        code: .usage)
    }
    return try OperationStart(
      context: context, relay: relay, action: action, filter: selection
    ).run()
  }

  private func settleAll() throws(OperatorFailure) -> ExitCode {
    var code = ExitCode.good
    for id in try ids() {
      do throws(OperatorFailure) {
        let envelope =
          switch context.order.action {
          case "retry": try retry(id)
          case "discard": try discard(id)
          case "cancel": try relay.object("DELETE", "/v1/envelopes/\(id)")
          default: try relay.object("POST", "/v1/envelopes/\(id)/requeue")
          }
        tell(envelope, id)
      } catch {
        // The other envelopes may still be settled; without a relay, or without the right, none
        // can.
        guard error.status != nil, error.status != 401, error.status != 403 else { throw error }
        context.note("\(id): \(error.reason)")
        code = .failed
      }
    }
    return code
  }

  private func tell(_ envelope: JSONObject, _ id: String) {
    guard !context.isJSON else { return context.say(envelope.line) }
    context.say("\(id) is \(SafeText.line(envelope.text("state") ?? "settled"))")
  }

  private func state(of id: String) throws(OperatorFailure) -> String {
    try relay.object("GET", "/v1/envelopes/\(id)").text("state") ?? ""
  }

  private func retry(_ id: String) throws(OperatorFailure) -> JSONObject {
    switch try state(of: id) {
    case "blocked": try resolve(id, "retry")
    case "failed", "expired": try relay.object("POST", "/v1/envelopes/\(id)/requeue")
    default: try relay.object("POST", "/v1/envelopes/\(id)/run")
    }
  }

  private func discard(_ id: String) throws(OperatorFailure) -> JSONObject {
    try state(of: id) == "blocked"
      ? try resolve(id, "discard") : try relay.object("DELETE", "/v1/envelopes/\(id)")
  }

  private func resolve(_ id: String, _ action: String) throws(OperatorFailure) -> JSONObject {
    var json = JSONWriter()
    json.object { $0.member("action", action) }
    return try relay.object("POST", "/v1/envelopes/\(id)/resolve", body: json.finish())
  }

  // MARK: - Editing

  private func edit() throws(OperatorFailure) -> ExitCode {
    let id = try ids()[0]
    var envelope = try relay.object(
      "PATCH", "/v1/envelopes/\(id)", body: try patch(), type: "application/merge-patch+json")
    if context.options.has("--retry") {
      envelope = try retry(id)
    } else if !context.isJSON, let state = envelope.text("state"), state != "queued" {
      context.say(
        "\(id) is corrected, and \(SafeText.line(state)) as before; next: waystation envelopes"
          + " retry \(id)\(context.serverOption)")
      return .good
    }
    tell(envelope, id)
    return .good
  }

  private func patch() throws(OperatorFailure) -> [UInt8] {
    if let file = context.options.text("--patch") { return try InputFile.read(file, "--patch") }
    var json = JSONWriter()
    let body = try context.options.text("--body").map { file throws(OperatorFailure) in
      try InputFile.read(file, "--body")
    }
    let fields = context.options.texts("--header")
    json.object { json in
      if let method = context.options.text("--method") { json.member("method", method) }
      if let path = context.options.text("--path") { json.member("path", path) }
      if !fields.isEmpty { json.member("headers") { HeaderOptions.write(fields, to: &$0) } }
      if let body {
        json.member("bodyBase64", Base64.text(of: body))
      }
    }
    let patch = json.finish()
    guard patch.count > 2 else {
      throw OperatorFailure(
        reason: "say what to change: --method, --path, --header, --body or --patch", code: .usage)
    }
    return patch
  }

  /// The given ids.
  ///
  /// `-` stands for those on standard input, one a line, either alone or as `list --json` prints
  /// them.
  private func ids() throws(OperatorFailure) -> [String] {
    var ids: [String] = []
    for word in context.options.operands {
      if word == "-" {
        let bytes = try InputFile.read("-", "standard input")
        for line in bytes.split(separator: UInt8(ascii: "\n")) { ids += Self.ids(in: Array(line)) }
      } else {
        ids.append(word)
      }
    }
    for id in ids where !id.utf8.allSatisfy(TokenText.isPathByte) {
      throw OperatorFailure(
        reason: "'\(SafeText.line(id))' is no envelope's id; 'waystation envelopes list' shows"
          + " them", code: .usage)
    }
    // An empty list on standard input leaves nothing to do; a command line needs an id.
    guard !ids.isEmpty || ["retry", "discard", "cancel", "requeue"].contains(context.order.action)
    else {
      throw OperatorFailure(reason: "ID is missing", code: .usage)
    }
    return ids
  }

  private static func ids(in line: [UInt8]) -> [String] {
    if line.first == UInt8(ascii: "{"), let envelope = try? JSONValue.parse(line).object(),
      let id = envelope.text("id")
    {
      return [id]
    }
    return String(decoding: line, as: UTF8.self).split { $0.isWhitespace }.map(String.init)
  }
}
