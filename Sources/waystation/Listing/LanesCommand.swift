import JSON

/// `waystation lanes`: lists, pauses and resumes lanes.
struct LanesCommand {
  let desk: Desk
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    if desk.order.action == "list" {
      try list()
      return .good
    }
    let word = desk.options.operands.first ?? ""
    let parts = word.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
      throw OperatorFailure(
        reason: "say which as CLIENT/LANE, not '\(SafeText.line(word))'", code: .usage)
    }
    let path =
      "/v1/clients/\(Desk.segment(String(parts[0])))/lanes/\(Desk.segment(String(parts[1])))"
    let answer = try relay.object("POST", "\(path)/\(desk.order.action)")
    guard !desk.isJSON else {
      desk.say(answer.line)
      return .good
    }
    let deed = desk.order.action == "pause" ? "is paused" : "goes on"
    desk.say("lane \(SafeText.line(word)) \(deed)")
    return .good
  }

  private func list() throws(OperatorFailure) {
    let list = PagedList(
      relay: relay, path: "/v1/lanes", filter: desk.filter("client", "state"), member: "lanes",
      cursorField: "after")
    var table = LaneTable()
    let isMore = try list.pages(limit: try desk.limit()) { page, _ throws(OperatorFailure) in
      for lane in page {
        if desk.isJSON {
          desk.say(lane.line)
        } else {
          table.add(lane, client: lane.text("client"), name: lane.text("lane"))
        }
      }
    }
    if !desk.isJSON { desk.say(table) }
    desk.noteMore(isMore)
  }
}
