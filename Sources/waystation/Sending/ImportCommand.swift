import JSON

/// `waystation import`: posts what `export` has written.
struct ImportCommand {
  let desk: Desk
  let relay: RelayClient

  /// What stays as it was.
  private static let kept = [
    "client", "upstream", "method", "path", "bodyBase64", "body", "lane", "tag", "hold",
    "notBefore", "onFailure", "coalesce", "references",
  ]
  private static let waiting = ["held", "queued", "parked", "delivering", "blocked"]

  func run() throws(OperatorFailure) -> ExitCode {
    let takesEnded = desk.options.has("--ended")
    let hidden = HiddenFields()
    let path = desk.options.operands.first ?? ""
    let outbox = Outbox(desk, relay, path: path, batchMax: try desk.batchMax()) { line, _ in
      Self.read(line, takesEnded: takesEnded, hidden)
    }
    let code = try outbox.run()
    if hidden.count > 0 {
      desk.note(
        HumanText.counted(hidden.count, "header field")
          + " held secrets that an export does not have, and were left out; let the upstream's"
          + " 'headers' set them")
    }
    return code
  }

  /// How many header fields were left out.
  final class HiddenFields {
    var count: Int64 = 0
  }

  /// A line of an export as it is posted.
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
    guard waiting.contains(state) || isEnded else { return .skip }
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
      for field in headers {
        if isHidden(field.value) {
          hidden.count += 1
        } else {
          json.member(field.name.string, raw: field.value.raw)
        }
      }
    }
  }

  /// What stands where a secret was, by `StoredRequest` in `openapi.yaml`.
  private static let mask = "***"

  private static func isHidden(_ value: JSONValue) -> Bool {
    if let values = try? value.array() { return values.contains(where: isHidden) }
    return (try? value.string()) == mask
  }
}
