import EventLoop
import JSON
import RelayCore

/// `waystation clients`: lists, shows, pauses, resumes and forgets clients.
struct ClientsCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    let name = context.options.operands.first ?? ""
    let path = "/v1/clients/\(CommandContext.segment(name))"
    switch context.order.action {
    case "list": try list()
    case "show": show(try relay.object("GET", path))
    case "forget": return try forget(name, path)
    default:
      let answer = try relay.object("POST", "\(path)/\(context.order.action)")
      guard !context.isJSON else {
        context.say(answer.line)
        break
      }
      let deed = context.order.action == "pause" ? "is paused" : "goes on"
      context.say("client \(SafeText.line(name)) \(deed)")
    }
    return .good
  }

  private func list() throws(OperatorFailure) {
    let list = PagedList(
      relay: relay, path: "/v1/clients", filter: context.filter("search"), member: "clients",
      cursorField: "after")
    let now = WallClock.now()
    var table = TextTable("CLIENT", "#WAITING", "#BLOCKED", "OLDEST", "STATE")
    let isMore = try list.pages(limit: try context.limit()) { page, _ throws(OperatorFailure) in
      for client in page {
        guard !context.isJSON else {
          context.say(client.line)
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
    if !context.isJSON {
      if table.isEmpty { context.say("no clients") } else { context.say(table) }
    }
    context.noteMore(isMore)
  }

  private func forget(_ name: String, _ path: String) throws(OperatorFailure) -> ExitCode {
    let shown = SafeText.line(name)
    let client = try relay.object("GET", path)
    guard try context.mayDo("cancel all of client \(shown) that waits\(part(of: client))") else {
      context.note("nothing was done")
      return .failed
    }
    let part = context.query([("--lane", "lane"), ("--tag", "tag")])
    let answer = try relay.object("DELETE", "\(path)/envelopes\(part)")
    if context.isJSON {
      context.say(answer.line)
    } else {
      context.say(
        "client \(shown): \(HumanText.numbered(answer.number("cancelled"), "envelope")) cancelled")
    }
    return .good
  }

  /// What is to be forgotten of a client, in words that follow "that waits".
  ///
  /// How many have a tag is not known before.
  private func part(of client: JSONObject) -> String {
    let lane = context.options.text("--lane")
    let place = lane.map { " in lane \(SafeText.line($0))" } ?? ""
    if let tag = context.options.text("--tag") {
      return "\(place) with the tag \(SafeText.line(tag))"
    }
    let lanes = client.objects("lanes")
    let waiting =
      lane.map { lane in lanes.first { $0.text("name") == lane }?.number("waiting") ?? 0 }
      ?? client.number("waiting")
    return "\(place) (\(HumanText.numbered(waiting, "envelope")))"
  }

  private func show(_ client: JSONObject) {
    guard !context.isJSON else { return context.say(client.line) }
    let waiting = HumanText.counted(client.number("waiting"), "envelope waits", "envelopes wait")
    let name = SafeText.line(client.text("client") ?? "?")
    context.say(
      context.terminal.styled(name, .bold) + ": \(waiting)"
        + (client.has("paused") ? ", " + context.terminal.styled("paused", .warning) : ""))
    context.say("")
    let lanes = client.objects("lanes")
    var table = LaneTable()
    for lane in lanes { table.add(lane, client: client.text("client"), name: lane.text("name")) }
    context.say(table)
    for attention in client.objects("needsAttention") {
      context.say("")
      let id = SafeText.line(attention.text("id") ?? "?")
      context.say("\(id) needs you: \(SafeText.line(attention.text("reason") ?? "it is blocked"))")
      if let words = attention.text("errorMessage") {
        context.say("  the upstream says: \(SafeText.line(words))")
      }
      context.say("  \(SafeText.line(attention.text("fix") ?? ""))")
      context.say(
        context.terminal.styled("  waystation envelopes show \(id)\(context.serverOption)", .faint))
    }
  }
}
