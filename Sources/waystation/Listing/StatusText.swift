import JSON
import RelayCore

/// The response of `GET /status`, in lines for people.
struct StatusText {
  let status: JSONObject
  let server: String
  /// The option that has a hint call the same relay; see ``CommandContext/serverOption``.
  let serverOption: String
  let terminal: Terminal
  let now: WallTime

  private static let waitingStates: [StaticString] = [
    "queued", "delivering", "held", "parked", "blocked",
  ]

  /// A thing that needs a person, with the command for a closer look.
  struct Trouble: Equatable {
    let sentence: String
    let command: String?
  }

  func lines() -> [String] {
    let troubles = Self.troubles(status, now: now, serverOption: serverOption)
    let state = status.text("state") ?? "?"
    let mark = terminal.styled("●", troubles.isEmpty ? .good : .bad)
    let uptime = HumanText.span(milliseconds: status.number("uptimeSeconds") * 1000)
    var lines = [
      "\(mark) \(terminal.styled(SafeText.line(server), .bold))  \(SafeText.line(state)) for "
        + "\(uptime), version \(SafeText.line(status.text("version") ?? "?"))",
      "  " + sentence(troubles.count),
    ]
    for trouble in troubles {
      lines.append("  " + terminal.styled("!", .bad) + " " + trouble.sentence)
      if let command = trouble.command { lines.append("      " + terminal.styled(command, .faint)) }
    }
    lines += [""] + UpstreamTable.lines(status.objects("upstreams"), terminal, now)
    lines += [""] + figures()
    lines += blocked() + backlogs()
    return lines
  }

  /// The whole status in one sentence.
  private func sentence(_ troubles: Int) -> String {
    let upstreams = status.objects("upstreams").filter { $0.has("configured") }
    let reachable = upstreams.count { $0.has("reachable") }
    var parts = [
      reachable == upstreams.count
        ? HumanText.counted(Int64(reachable), "upstream") + " reachable"
        : "\(reachable) of \(HumanText.counted(Int64(upstreams.count), "upstream")) reachable"
    ]
    let store = status.object("store")
    let waiting = waitingCount
    if waiting == 0 {
      parts.append("nothing waits")
    } else {
      let age = HumanText.age(store?.text("oldestWaitingAt"), now: now)
      let oldest = age.isEmpty ? "" : ", the oldest for \(SafeText.line(age))"
      parts.append(
        HumanText.counted(waiting, "envelope waits", "envelopes wait") + oldest)
    }
    switch troubles {
    case 0: parts.append("nothing needs you")
    case 1: parts.append("one thing needs you:")
    default: parts.append("\(troubles) things need you:")
    }
    return parts.joined(separator: "; ")
  }

  private var waitingCount: Int64 {
    let counts = status.object("store")?.object("envelopes")
    return Self.waitingStates.reduce(0) { $0 + (counts?.number($1) ?? 0) }
  }

  /// The things that need a person, the worst first.
  static func troubles(
    _ status: JSONObject, now: WallTime, serverOption: String = ""
  ) -> [Trouble] {
    var troubles: [Trouble] = []
    let store = status.object("store")
    if let words = store?.text("trouble") {
      troubles.append(Trouble(sentence: "the store: \(SafeText.line(words))", command: nil))
    }
    if let damage = store?.object("damage") {
      troubles.append(
        Trouble(
          sentence: SafeText.line(damage.text("detail") ?? "the store is damaged"),
          command: "waystation store check"))
    }
    for upstream in status.objects("upstreams") where upstream.has("configured") {
      let name = SafeText.line(upstream.text("name") ?? "?")
      if !upstream.has("reachable") {
        let age = SafeText.line(HumanText.age(upstream.text("since"), now: now))
        troubles.append(
          Trouble(
            sentence: "upstream \(name) is unreachable" + (age.isEmpty ? "" : " for \(age)")
              + (upstream.text("lastError").map { ": \(SafeText.line($0))" } ?? ""),
            command: "waystation upstreams probe \(name)\(serverOption)"))
      } else if upstream.has("paused"), upstream.number("waiting") > 0 {
        troubles.append(
          Trouble(
            sentence: "upstream \(name) is paused, and "
              + HumanText.counted(upstream.number("waiting"), "envelope waits", "envelopes wait"),
            command: "waystation upstreams resume \(name)\(serverOption)"))
      }
    }
    let blocked = status.number("blockedLaneCount")
    if blocked > 0 {
      troubles.append(
        Trouble(
          sentence: HumanText.counted(blocked, "lane is blocked", "lanes are blocked"),
          command: "waystation envelopes list --state blocked\(serverOption)"))
    }
    return troubles
  }

  private func figures() -> [String] {
    let rates = status.object("rates")
    func rate(_ name: StaticString) -> String {
      HumanText.decimal(rates?.decimal(name) ?? 0) + "/s"
    }
    let store = status.object("store")
    let counts = store?.object("envelopes")
    let states: [(String, StaticString)] = [
      ("queued", "queued"), ("delivering", "delivering"), ("held", "held"), ("parked", "parked"),
      ("blocked", "blocked"), ("delivered", "delivered"), ("failed", "failed"),
      ("expired", "expired"), ("cancelled", "cancelled"),
    ]
    let kept = states.compactMap { word, name in
      counts.flatMap { counts in
        counts.number(name) == 0 ? nil : "\(word) \(HumanText.count(counts.number(name)))"
      }
    }
    func size(_ name: StaticString) -> String { HumanText.bytes(store?.number(name) ?? 0) }
    return [
      label("last min") + "accepted \(rate("acceptedPerSecond")), delivered "
        + "\(rate("deliveredPerSecond")), failed \(rate("failedPerSecond")), attempts "
        + rate("attemptsPerSecond")
        + ((rates?.decimal("shedPerSecond") ?? 0) > 0 ? ", shed \(rate("shedPerSecond"))" : ""),
      label("envelopes") + (kept.isEmpty ? "none" : kept.joined(separator: ", ")),
      label("store") + "\(size("fileBytes")) on disk, \(size("logBytes")) of log, room for "
        + size("roomBytes"),
    ]
  }

  private func label(_ word: String) -> String {
    terminal.styled(word, .faint) + String(repeating: " ", count: max(1, 11 - word.count))
  }

  private func blocked() -> [String] {
    var table = TextTable("BLOCKED LANE", "FOR", "ENVELOPE", "REASON")
    for lane in status.objects("blockedLanes") {
      table.add(
        .init("\(lane.text("client") ?? "?")/\(lane.text("lane") ?? "?")", .bad),
        .init(HumanText.age(lane.text("since"), now: now)), .init(lane.text("envelope")),
        .init(lane.text("reason")))
    }
    return table.isEmpty ? [] : [""] + table.lines(on: terminal)
  }

  private func backlogs() -> [String] {
    var table = TextTable("MOST WAITING", "#ENVELOPES")
    for client in status.objects("backlogs").prefix(5) {
      table.add(
        .init(client.text("client")), .init(HumanText.count(client.number("waiting"))))
    }
    return table.isEmpty ? [] : [""] + table.lines(on: terminal)
  }
}
