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
      if object["key"] == nil {
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
    } else {
      let result = answer.text("result") == "duplicate" ? "was there already" : "is on disk"
      let id = SafeText.line(answer.text("id") ?? "?")
      context.say("\(id) \(result), \(SafeText.line(answer.text("state") ?? ""))")
    }
    return .good
  }

  /// The fields of an envelope that have an option of the same name, whose text they are.
  static let named = ["client", "upstream", "method", "path", "lane", "tag", "key"]

  private func envelope() throws(OperatorFailure) -> [UInt8] {
    let body = try context.options.text("--body").map { file throws(OperatorFailure) in
      try InputFile.read(file, "--body")
    }
    let fields = context.options.texts("--header")
    var json = JSONWriter()
    json.object { json in
      for name in Self.named {
        if let value = context.options.text("--\(name)") { json.member(name, value) }
      }
      if !fields.isEmpty { json.member("headers") { HeaderOptions.write(fields, to: &$0) } }
      if context.options.has("--hold") { json.member("hold", true) }
      if let body {
        json.member("bodyBase64", String(decoding: Base64.encode(body), as: UTF8.self))
      }
    }
    return json.finish()
  }
}
