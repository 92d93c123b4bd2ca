import JSON

/// `waystation audit`: lists what operators did.
struct AuditCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    let list = PagedList(
      relay: relay, path: "/v1/audit", filter: context.filter("subject"), member: "entries",
      cursorField: "after")
    var table = TextTable("AT (UTC)", "WHO", "ROLE", "ACTION", "SUBJECT", "RESULT", "DETAIL")
    let isMore = try list.pages(limit: try context.limit()) { page, _ throws(OperatorFailure) in
      for entry in page {
        guard !context.isJSON else {
          context.say(entry.line)
          continue
        }
        let result = entry.text("result") ?? "?"
        let status = entry.optionalNumber("status").map { " (\($0))" } ?? ""
        table.add(
          .init(HumanText.time(entry.text("at"))), .init(entry.text("who"), .bold),
          .init(entry.text("role")), .init(entry.text("action")), .init(entry.text("subject")),
          .init(result == "done" ? result : result + status, Self.style(of: result)),
          .init(entry.text("detail")))
      }
    }
    if !context.isJSON {
      if table.isEmpty { context.say("nothing was done") } else { context.say(table) }
    }
    context.noteMore(isMore)
    return .good
  }

  private static func style(of result: String) -> Terminal.Style? {
    switch result {
    case "refused": .warning
    case "failed", "begun": .bad
    default: nil
    }
  }
}
