import EventLoop
import JSON
import RelayCore

/// `waystation send`: posts one envelope from options, or many from a file.
struct SendCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    guard let file = context.options.text("--file") else { return try sendOne() }
    let client = context.options.text("--client")
    let outbox = Outbox(context, relay, path: file, batchMax: try context.batchMax()) {
      Self.read($0, number: $1, client: client)
    }
    return try outbox.run()
  }

  /// A line as it is posted: with a key, and with the client that was given for all, if any.
  static func read(
    _ line: ArraySlice<UInt8>, number: Int64, client: String?
  ) -> Outbox.Reading {
    let object: JSONObject
    do {
      object = try JSONValue.parse(Array(line)).object()
    } catch {
      return .refuse("\(error)")
    }
    var json = JSONWriter()
    json.object { json in
      for member in object { json.member(member.name.string, raw: member.value.raw) }
      if object["key"] == nil, !object.has("void") {
        json.member("key", "line-\(number)-\(ProgressNote.digest(line))")
      }
      if object["client"] == nil, let client { json.member("client", client) }
    }
    return .post(json.finish())
  }

  private func sendOne() throws(OperatorFailure) -> ExitCode {
    let answer = try relay.object("POST", "/v1/envelopes", body: try envelope())
    if context.isJSON {
      context.say(answer.line)
    } else if context.options.has("--void") {
      let result = answer.text("result") == "void" ? "is void" : "had come, or was given up, before"
      let lane = SafeText.line(answer.text("lane") ?? "?")
      context.say("number \(context.options.text("--sequence") ?? "?") of lane \(lane) \(result)")
    } else {
      let result = answer.text("result") == "duplicate" ? "was there already" : "is on disk"
      let id = SafeText.line(answer.text("id") ?? "?")
      context.say("\(id) \(result), \(SafeText.line(answer.text("state") ?? ""))")
    }
    return .good
  }

  private func envelope() throws(OperatorFailure) -> [UInt8] {
    var members: [(name: String, value: [UInt8])] = []
    for field in SendOptions.fields where context.options.has(field.rule.name) {
      members.append((field.name, try value(of: field)))
    }
    var json = JSONWriter()
    json.object { json in for (name, value) in members { json.member(name, raw: value) } }
    return json.finish()
  }

  /// The JSON that a field's option stands for.
  private func value(of field: SendOptions.Field) throws(OperatorFailure) -> [UInt8] {
    let option = field.rule.name
    let text = context.options.text(option) ?? ""
    var json = JSONWriter()
    switch field.form {
    case .text, .words: json.string(text)
    case .flag: json.bool(true)
    case .headers: HeaderOptions.write(context.options.texts(option), to: &json)
    case .bytes: json.string(utf8: Base64.encode(try InputFile.read(text, option)))
    case .json: return try Self.document(text, option)
    case .number, .time, .span:
      do throws(UsageError) {
        if field.form == .number {
          json.integer(try SendOptions.sequence(context.options) ?? 0)
        } else if field.form == .span {
          json.integer(try SendOptions.seconds(field, context.options) ?? 0)
        } else if let time = try SendOptions.time(field, context.options, now: WallClock.now()) {
          json.string(RFC3339.format(time))
        }
      } catch {
        throw OperatorFailure(reason: error.reason, code: .usage)
      }
    }
    return json.finish()
  }

  /// The bytes of a file that holds one JSON value, without white space around it.
  private static func document(
    _ path: String, _ option: String
  ) throws(OperatorFailure) -> [UInt8] {
    let bytes = try InputFile.read(path, option)
    do throws(JSONError) {
      return Array(try JSONValue.parse(bytes).raw)
    } catch {
      throw OperatorFailure(
        reason: "\(option): \(path) is no JSON: \(SafeText.line("\(error)")); --body sends a file"
          + " as it is", code: .usage)
    }
  }
}
