import EventLoop
import JSON
import RelayCore

/// `waystation clients`: lists, shows, pauses and resumes clients.
struct ClientsCommand {
  let desk: Desk
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    let name = desk.options.operands.first ?? ""
    let path = "/v1/clients/\(Desk.segment(name))"
    switch desk.order.action {
    case "list": try list()
    case "show": show(try relay.object("GET", path))
    default:
      let answer = try relay.object("POST", "\(path)/\(desk.order.action)")
      guard !desk.isJSON else {
        desk.say(answer.line)
        break
      }
      let deed = desk.order.action == "pause" ? "is paused" : "goes on"
      desk.say("client \(SafeText.line(name)) \(deed)")
    }
    return .good
  }

  private func list() throws(OperatorFailure) {
    let list = PagedList(
      relay: relay, path: "/v1/clients", filter: desk.filter("search"), member: "clients",
      cursorField: "after")
    let now = WallClock.now()
    var table = TextTable("CLIENT", "#WAITING", "#BLOCKED", "OLDEST", "STATE")
    let isMore = try list.pages(limit: try desk.limit()) { page, _ throws(OperatorFailure) in
      for client in page {
        guard !desk.isJSON else {
          desk.say(client.line)
          continue
        }
        let blocked = client.number("blocked")
        table.add(
          .init(client.text("client")), .init(HumanText.count(client.number("waiting"))),
          .init(blocked == 0 ? nil : HumanText.count(blocked), .bad),
          .init(HumanText.age(client.text("oldestWaitingAt"), now: now)),
          .init(client.has("paused") ? "paused" : nil, .warning))
      }
    }
    if !desk.isJSON {
      if table.isEmpty { desk.say("no clients") } else { desk.say(table) }
    }
    desk.noteMore(isMore)
  }

  private func show(_ client: JSONObject) {
    guard !desk.isJSON else { return desk.say(client.line) }
    let waiting = HumanText.counted(client.number("waiting"), "envelope waits", "envelopes wait")
    let name = SafeText.line(client.text("client") ?? "?")
    desk.say(
      desk.terminal.styled(name, .bold) + ": \(waiting)"
        + (client.has("paused") ? ", " + desk.terminal.styled("paused", .warning) : ""))
    desk.say("")
    let lanes = client.objects("lanes")
    var table = LaneTable()
    for lane in lanes { table.add(lane, client: client.text("client"), name: lane.text("name")) }
    desk.say(table)
    for attention in client.objects("needsAttention") {
      desk.say("")
      let id = SafeText.line(attention.text("id") ?? "?")
      desk.say("\(id) needs you: \(SafeText.line(attention.text("reason") ?? "it is blocked"))")
      desk.say("  \(SafeText.line(attention.text("fix") ?? ""))")
      desk.say(desk.terminal.styled("  waystation envelopes show \(id)", .faint))
    }
  }
}
