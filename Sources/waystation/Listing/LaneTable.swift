import JSON

/// A table of lanes, from either of the relay's lists.
struct LaneTable {
  private var table = TextTable("LANE", "STATE", "#WAITING", "HEAD", "REASON")

  mutating func add(_ lane: JSONObject, client: String?, name: String?) {
    let blocked = lane.object("blocked")
    let state =
      blocked != nil
      ? "blocked"
      : lane.has("paused") ? "paused" : lane.text("state") ?? Self.plainState(of: lane)
    let style: Terminal.Style? = state == "blocked" ? .bad : state == "paused" ? .warning : nil
    table.add(
      .init("\(client ?? "?")/\(name ?? "?")", .bold),
      .init(lane.has("evidence") ? "\(state), evidence" : state, style),
      .init(HumanText.count(lane.number("waiting"))),
      .init(lane.text("head") ?? blocked?.text("envelope")), .init(blocked?.text("reason")))
  }

  /// The state of a lane for which the relay names none.
  private static func plainState(of lane: JSONObject) -> String {
    lane.number("waiting") > 0 ? "waiting" : "idle"
  }

  var isEmpty: Bool { table.isEmpty }
  var rows: TextTable { table }
}

extension CommandContext {
  func say(_ lanes: LaneTable) {
    if lanes.isEmpty { say("no lanes") } else { say(lanes.rows) }
  }
}
