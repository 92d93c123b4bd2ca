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
    do throws(OperatorFailure) {
      let isMore = try list.pages(limit: try desk.limit()) { page, _ throws(OperatorFailure) in
        for lane in page { show(lane, lane.text("client"), lane.text("lane"), &table) }
      }
      finish(table)
      desk.noteMore(isMore)
    } catch {
      guard error.status == 404 || error.status == 405 else { throw error }
      try listOfClient(error)
    }
  }

  /// What a relay without the list can be asked.
  private func listOfClient(_ failure: OperatorFailure) throws(OperatorFailure) {
    guard let client = desk.options.text("--client") else {
      throw failure.explained("all lanes", else: "waystation lanes list --client NAME")
    }
    var table = LaneTable()
    let view = try relay.object("GET", "/v1/clients/\(Desk.segment(client))")
    for lane in view.objects("lanes") where isMeant(lane) {
      show(lane, client, lane.text("name"), &table)
    }
    finish(table)
  }

  private func isMeant(_ lane: JSONObject) -> Bool {
    switch desk.options.text("--state") {
    case "blocked": lane.text("state") == "blocked"
    case "paused": lane.has("paused")
    case "waiting": lane.number("waiting") > 0
    default: true
    }
  }

  private func show(
    _ lane: JSONObject, _ client: String?, _ name: String?, _ table: inout LaneTable
  ) {
    if desk.isJSON { desk.say(lane.line) } else { table.add(lane, client: client, name: name) }
  }

  private func finish(_ table: LaneTable) {
    if !desk.isJSON { desk.say(table) }
  }
}
