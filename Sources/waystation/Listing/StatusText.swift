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

  /// All states, in the order in which people are shown them.
  static let states: [EnvelopeState] = [
    .queued, .delivering, .held, .parked, .blocked, .delivered, .failed, .expired, .cancelled,
  ]

  /// A thing that needs a person, with the commands for what can be done about it.
  struct Trouble: Equatable {
    let sentence: String
    var commands: [String] = []
    /// How many more of its kind the relay does not list.
    var more: Int64 = 0
  }

  func lines() -> [String] {
    let troubles = Self.troubles(status, now: now, serverOption: serverOption)
    let state = status.text("state") ?? "?"
    let mark = terminal.styled("●", troubles.isEmpty ? .good : .bad)
    let uptime = HumanText.span(milliseconds: status.number("uptimeSeconds") * 1000)
    let place = (status.text("name").map { SafeText.line($0) + ", " } ?? "") + SafeText.line(server)
    var lines = [
      "\(mark) \(terminal.styled(place, .bold))  \(SafeText.line(state)) for "
        + "\(uptime), version \(SafeText.line(status.text("version") ?? "?"))",
      "  " + sentence(troubles.reduce(Int64(troubles.count)) { $0 + $1.more }),
    ]
    for trouble in troubles {
      lines.append("  " + terminal.styled("!", .bad) + " " + trouble.sentence)
      lines += trouble.commands.map { "      " + terminal.styled($0, .faint) }
      if trouble.more > 0 {
        lines.append("  " + terminal.styled("!", .bad) + " and \(trouble.more) more of this kind")
      }
    }
    let told = Set(
      status.objects("needs").compactMap { need in
        need.text("kind").flatMap(NeedKind.init(rawValue:))?.tellsLastError == true
          ? need.text("upstream") : nil
      })
    lines += [""] + UpstreamTable.lines(status.objects("upstreams"), terminal, now, told: told)
    lines += [""] + figures()
    lines += blocked() + backlogs()
    return lines
  }

  /// The whole status in one sentence.
  private func sentence(_ troubles: Int64) -> String {
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
    let counts = status.object("store")?.counts("envelopes") ?? [:]
    return EnvelopeState.waiting.reduce(0) { $0 + (counts[$1] ?? 0) }
  }

  /// The things that need a person, as the relay lists them.
  static func troubles(
    _ status: JSONObject, now: WallTime, serverOption: String = ""
  ) -> [Trouble] {
    guard status["needs"] != nil else {
      // A release before this list says nothing of it, and that must not look like good news.
      return [
        Trouble(
          sentence: "the relay is older than this command, and does not say what needs you")
      ]
    }
    return status.objects("needs").map { need in
      let since = HumanText.clock(need.text("since"), now: now)
      let cause = need.text("cause").map { ": \($0)" } ?? ""
      let commands = need.objects("acts").map { act in
        let words = act.texts("command").map(ShellWord.quoted).joined(separator: " ")
        // What is done without the relay, such as `check`, is told no address.
        return "waystation " + SafeText.line(words)
          + (act.text("method") != nil ? serverOption : "")
      }
      return Trouble(
        // In front, since causes end with others' words.
        sentence: SafeText.line(
          (since.isEmpty ? "" : "since \(since): ") + (need.text("title") ?? "?") + cause),
        commands: commands, more: need.number("more"))
    }
  }

  private func figures() -> [String] {
    let rates = status.object("rates")
    func rate(_ name: StaticString) -> String {
      HumanText.rate(rates?.decimal(name) ?? 0)
    }
    let store = status.object("store")
    let counts = store?.counts("envelopes") ?? [:]
    let kept = Self.states.compactMap { state in
      counts[state].flatMap { $0 == 0 ? nil : "\(state.rawValue) \(HumanText.count($0))" }
    }
    func size(_ name: StaticString) -> String { HumanText.bytes(store?.number(name) ?? 0) }
    return [
      label("last min") + "accepted \(rate("acceptedPerSecond")), delivered "
        + "\(rate("deliveredPerSecond")), failed \(rate("failedPerSecond")), attempts "
        + rate("attemptsPerSecond")
        + ((rates?.decimal("shedPerSecond") ?? 0) > 0 ? ", shed \(rate("shedPerSecond"))" : ""),
      label("envelopes") + (kept.isEmpty ? "none" : kept.joined(separator: ", "))
        + ((counts[.failed] ?? 0) > 0
          ? " ('waystation envelopes list --state failed\(serverOption)' shows why)" : ""),
      // A store in a database has no files here.
      label("store")
        + (store?["fileBytes"] == nil
          ? "\(size("contentBytes")) of contents in the database"
          : "\(size("fileBytes")) on disk, \(size("logBytes")) of log, room for "
            + size("roomBytes")),
    ] + receipts() + relays(sharing: store)
  }

  /// By whom receipts are signed, if they are made.
  private func receipts() -> [String] {
    guard let receipts = status.object("receipts") else { return [] }
    return [
      label("receipts") + "\(SafeText.line(receipts.text("issuer") ?? "?")), key "
        + SafeText.line(receipts.text("kid") ?? "?")
    ]
  }

  /// The relays that share the store, each in a line.
  private func relays(sharing store: JSONObject?) -> [String] {
    (store?.objects("relays") ?? []).enumerated().map { index, relay in
      let address =
        relay.text("address").map(SafeText.line) ?? "a relay without a listener for relays"
      let role = relay.text("role") == "leader" ? "has the store" : "a spare"
      return label(index == 0 ? "relays" : "")
        + "\(address), version \(SafeText.line(relay.text("version") ?? "?")), \(role)"
    }
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

  /// The most clients whose backlogs are shown.
  private static let backlogsShownMax = 5

  private func backlogs() -> [String] {
    var table = TextTable("MOST WAITING", "#ENVELOPES")
    let backlogs = status.objects("backlogs")
    for client in backlogs.prefix(Self.backlogsShownMax) {
      table.add(
        .init(client.text("client")), .init(HumanText.count(client.number("waiting"))))
    }
    guard !table.isEmpty else { return [] }
    let others = "others wait as well: waystation clients list"
    return [""] + table.lines(on: terminal)
      + (backlogs.count > Self.backlogsShownMax ? [terminal.styled(others, .faint)] : [])
  }
}

extension NeedKind {
  /// Whether a need of this kind tells what went wrong last at its upstream.
  fileprivate var tellsLastError: Bool {
    [.upstreamUnreachable, .credentialsRefused, .upstreamFailing].contains(self)
  }
}
