import EventLoop
import JSON
import RelayCore

/// `waystation uploads`: lists and cancels uploads.
struct UploadsCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    if context.order.action == "cancel" { try cancel() } else { try list() }
    return .good
  }

  private func list() throws(OperatorFailure) {
    let list = PagedList(
      relay: relay, path: "/v1/uploads", filter: context.filter("client"), member: "uploads",
      cursorField: "after")
    let now = WallClock.now()
    var table = TextTable("ID", "CLIENT/LANE", "REQUEST", "STATE", "#HERE", "#OF", "AGE", "KEPT")
    let isMore = try list.pages(limit: try context.limit()) { page, _ throws(OperatorFailure) in
      for upload in page {
        if context.isJSON {
          context.say(upload.line)
        } else {
          table.add(Self.row(upload, now: now))
        }
      }
    }
    if !context.isJSON {
      if table.isEmpty { context.say("no uploads") } else { context.say(table) }
    }
    context.noteMore(isMore)
  }

  private static func row(_ upload: JSONObject, now: WallTime) -> [TextTable.Cell] {
    let isComplete = upload.has("complete")
    return [
      .init(upload.text("id")),
      .init("\(upload.text("client") ?? "?")/\(upload.text("lane") ?? "?")", .bold),
      .init("\(upload.text("method") ?? "?") \(upload.text("path") ?? "?")"),
      .init(isComplete ? "complete" : "open", isComplete ? .good : nil),
      .init(HumanText.bytes(upload.number("offset"))),
      .init(upload.optionalNumber("length").map(HumanText.bytes)),
      .init(HumanText.age(upload.text("createdAt"), now: now)),
      .init(HumanText.wait(upload.text("expiresAt"), now: now)),
    ]
  }

  private func cancel() throws(OperatorFailure) {
    let id = context.options.operands.first ?? ""
    guard !id.isEmpty, id.utf8.allSatisfy(TokenText.isPathByte) else {
      throw OperatorFailure(
        reason: "'\(SafeText.line(id))' is no upload's id; 'waystation uploads list' shows them",
        code: .usage)
    }
    try relay.call("DELETE", "/v1/uploads/\(id)")
    guard context.isJSON else { return context.say("upload \(id) is cancelled") }
    var json = JSONWriter()
    json.object { json in
      json.member("id", id)
      json.member("cancelled", true)
    }
    context.say(SafeText.json(json.finish()))
  }
}
