import JSON

/// Lanes in a table, as the relay shows them in either list.
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
      .init("\(client ?? "?")/\(name ?? "?")", .bold), .init(state, style),
      .init(HumanText.count(lane.number("waiting"))),
      .init(lane.text("head") ?? blocked?.text("envelope")), .init(blocked?.text("reason")))
  }

  /// What a lane does of which the relay says nothing more.
  private static func plainState(of lane: JSONObject) -> String {
    lane.number("waiting") > 0 ? "waiting" : "idle"
  }

  var isEmpty: Bool { table.isEmpty }
  var rows: TextTable { table }
}

extension Desk {
  func say(_ lanes: LaneTable) {
    if lanes.isEmpty { say("no lanes") } else { say(lanes.rows) }
  }
}
