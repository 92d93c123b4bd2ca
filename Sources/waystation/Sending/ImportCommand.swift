import JSON
import RelayCore

/// `waystation import`: posts envelopes that `export` has written.
struct ImportCommand {
  let context: CommandContext
  let relay: RelayClient

  /// The members that are posted unchanged.
  static let kept = [
    "client", "upstream", "method", "path", "bodyBase64", "body", "lane", "tag", "hold",
    "notBefore", "onFailure", "coalesce", "references",
  ]

  func run() throws(OperatorFailure) -> ExitCode {
    let takesEnded = context.options.has("--ended")
    let hidden = HiddenFields()
    let path = context.options.operands.first ?? ""
    let outbox = Outbox(context, relay, path: path, batchMax: try context.batchMax()) { line, _ in
      Self.read(line, takesEnded: takesEnded, hidden)
    }
    let code = try outbox.run()
    if hidden.count > 0 {
      context.note(
        HumanText.counted(hidden.count, "header field")
          + " held secrets that are not exported, and were left out; set them by the"
          + " upstream's 'headers'")
    }
    return code
  }

  /// The number of header fields that were left out.
  final class HiddenFields {
    var count: Int64 = 0
  }

  /// Turns a line of an export into an envelope to post.
  static func read(
    _ line: ArraySlice<UInt8>, takesEnded: Bool, _ hidden: HiddenFields
  ) -> Outbox.Reading {
    let object: JSONObject
    do {
      object = try JSONValue.parse(Array(line)).object()
    } catch {
      return .refuse("\(error)")
    }
    guard let id = object.text("id"), let state = object.text("state") else {
      return .refuse("that is no line of an export; 'waystation send --file' takes envelopes")
    }
    let isEnded = takesEnded && (state == "failed" || state == "expired")
    guard EnvelopeState(rawValue: state)?.isEnd == false || isEnded else { return .skip }
    guard object.number("bodyBytes") == 0 || object["bodyBase64"] != nil else {
      return .refuse("\(id) was exported without its body")
    }
    var json = JSONWriter()
    json.object { json in
      for member in object where kept.contains(member.name.string) {
        json.member(member.name.string, raw: member.value.raw)
      }
      json.member("key", object.text("key") ?? id)
      if let headers = object.object("headers") { write(headers, to: &json, hidden) }
    }
    return .post(json.finish())
  }

  private static func write(
    _ headers: JSONObject, to json: inout JSONWriter, _ hidden: HiddenFields
  ) {
    json.memberObject("headers") { json in
      // The way that an envelope has come is written by the relays on it.
      for field in headers where field.name.string.lowercased() != "via" {
        if isHidden(field.value) {
          hidden.count += 1
        } else {
          json.member(field.name.string, raw: field.value.raw)
        }
      }
    }
  }

  /// The text that stands in place of a secret, by `StoredRequest` in `openapi.yaml`.
  private static let mask = "***"

  private static func isHidden(_ value: JSONValue) -> Bool {
    if let values = try? value.array() { return values.contains(where: isHidden) }
    return (try? value.string()) == mask
  }
}
