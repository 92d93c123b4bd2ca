import JSON

/// `waystation lanes`: lists, pauses and resumes lanes, and has them go on over a gap.
struct LanesCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    if context.order.action == "list" {
      try list()
      return .good
    }
    let word = context.options.operands.first ?? ""
    let parts = word.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
      throw OperatorFailure(
        reason: "say which as CLIENT/LANE, not '\(SafeText.line(word))'", code: .usage)
    }
    let names = parts.map { CommandContext.segment(String($0)) }
    let path = "/v1/clients/\(names[0])/lanes/\(names[1])"
    let answer = try relay.object("POST", "\(path)/\(context.order.action)")
    guard !context.isJSON else {
      context.say(answer.line)
      return .good
    }
    context.say("lane \(SafeText.line(word)) \(deed(answer))")
    return .good
  }

  /// What was done, as the rest of a sentence about the lane.
  private func deed(_ answer: JSONObject) -> String {
    switch context.order.action {
    case "pause": return "is paused"
    case "resume": return "goes on"
    default:
      let skipped = answer.objects("skipped").map { range in
        let (first, last) = (range.number("first"), range.number("last"))
        return first == last ? "\(first)" : "\(first) to \(last)"
      }
      return skipped.isEmpty
        ? "waits for no number" : "goes on without \(skipped.joined(separator: ", "))"
    }
  }

  private func list() throws(OperatorFailure) {
    let list = PagedList(
      relay: relay, path: "/v1/lanes", filter: context.filter("client", "state"), member: "lanes",
      cursorField: "after")
    var table = LaneTable()
    let isMore = try list.pages(limit: try context.limit()) { page, _ throws(OperatorFailure) in
      for lane in page {
        if context.isJSON {
          context.say(lane.line)
        } else {
          table.add(lane, client: lane.text("client"), name: lane.text("lane"))
        }
      }
    }
    if !context.isJSON { context.say(table) }
    context.noteMore(isMore)
  }
}
