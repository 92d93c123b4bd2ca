import EventLoop
import JSON
import RelayCore

/// `waystation operations`: lists, shows, follows and cancels operations on many envelopes.
struct OperationsCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    if context.order.action == "list" {
      try list()
      return .good
    }
    let id = context.options.operands.first ?? ""
    guard id.utf8.allSatisfy(TokenText.isPathByte) else {
      throw OperatorFailure(
        reason: "'\(SafeText.line(id))' is no operation's id; 'waystation operations list' shows"
          + " them", code: .usage)
    }
    let progress = OperationProgress(context: context, relay: relay)
    switch context.order.action {
    case "follow": return progress.tell(try progress.follow(id))
    case "cancel": progress.tell(try relay.object("DELETE", "/v1/operations/\(id)"))
    default: show(try progress.look(at: id), progress)
    }
    return .good
  }

  private func list() throws(OperatorFailure) {
    let operations = try relay.object("GET", "/v1/operations").objects("operations")
    let now = WallClock.now()
    var table = TextTable(
      "ID", "ACTION", "STATE", "#MATCHED", "#DONE", "#LEFT", "WHO", "BEGUN", "WHICH")
    for operation in operations {
      guard !context.isJSON else {
        context.say(operation.line)
        continue
      }
      let state = operation.text("state") ?? "?"
      let failed = operation.number("failed")
      let age = HumanText.age(operation.text("startedAt"), now: now)
      table.add(
        .init(operation.text("id")), .init(operation.text("action")),
        .init(state, Self.style(of: state)),
        .init(HumanText.count(operation.number("matched"))),
        .init(HumanText.count(operation.number("done"))),
        .init(failed == 0 ? nil : HumanText.count(failed), .warning),
        .init(operation.text("who")), .init(age.isEmpty ? nil : "\(age) ago"),
        .init(Self.filter(of: operation)))
    }
    if !context.isJSON {
      if table.isEmpty { context.say("no operations") } else { context.say(table) }
    }
  }

  private func show(_ operation: JSONObject, _ progress: OperationProgress) {
    progress.tell(operation)
    guard !context.isJSON else { return }
    let end = operation.text("endedAt").map { "\(HumanText.time($0)) UTC" } ?? ""
    let facts = [
      ("which", Self.filter(of: operation)), ("who", operation.text("who") ?? ""),
      ("begun", "\(HumanText.time(operation.text("startedAt"))) UTC"), ("ended", end),
      ("keys", operation.text("idempotencyKeys") ?? ""),
      ("more", operation.has("more") ? "there are more than one operation takes" : ""),
    ]
    for (label, text) in facts where !text.isEmpty {
      let blank = String(repeating: " ", count: 7 - label.count)
      context.say(
        "  " + context.terminal.styled(label, .faint) + blank + SafeText.line(text))
    }
  }

  private static func style(of state: String) -> Terminal.Style? {
    switch state {
    case "done": .good
    case "stopped", "interrupted": .warning
    default: nil
    }
  }

  /// The filter as `name=value`, separated by blanks.
  private static func filter(of operation: JSONObject) -> String {
    guard let filter = operation.object("filter") else { return "" }
    return filter.map { member in
      let value = (try? member.value.string()) ?? String(decoding: member.value.raw, as: UTF8.self)
      return "\(member.name.string)=\(value)"
    }
    .joined(separator: " ")
  }
}
