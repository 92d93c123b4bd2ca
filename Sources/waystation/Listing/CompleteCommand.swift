import Glibc
import JSON

/// `waystation complete`: prints the names that begin with a prefix, for a shell's completion.
///
/// It is silent where the relay does not answer, or does not let the caller in: a person who
/// presses a key has asked for nothing else. All of it is over within ``limitMs``.
struct CompleteCommand {
  let order: CompleteOrder
  let relay: RelayClient

  /// The longest time for all of it, in milliseconds.
  static let limitMs = 1000
  /// The most names that are printed.
  static let countMax = 100

  static func run(_ order: CompleteOrder) -> ExitCode {
    endInTime()
    let environment = Environment.variables()
    do throws(OperatorFailure) {
      let relay = try RelayClient(order.options, environment, home: environment["HOME"])
      let names = try CompleteCommand(order: order, relay: relay).names()
      for name in names.prefix(countMax) { StandardStream.output.line(name) }
    } catch {
    }
    return .good
  }

  /// Ends the program once its time is over, whatever it waits for then.
  private static func endInTime() {
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGALRM) { _ in _exit(ExitCode.good.rawValue) }
    var time = itimerval()
    time.it_value = timeval(tv_sec: limitMs / 1000, tv_usec: limitMs % 1000 * 1000)
    setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &time, nil)
  }

  /// The names, in the relay's order, each once.
  private func names() throws(OperatorFailure) -> [String] {
    let all =
      switch order.kind {
      case .upstreams: try list("/v1/upstreams", "", "upstreams").compactMap { $0.text("name") }
      case .clients: try clients(order.prefix)
      case .lanes: try lanes()
      case .laneNames: try lanes(of: order.options.text("--client")).compactMap { $0.text("lane") }
      }
    var seen: Set<String> = []
    return all.filter { name in
      name.hasPrefix(order.prefix) && Self.isShown(name) && seen.insert(name).inserted
    }
  }

  /// Whether a name is one that a relay can have: visible ASCII, which fits into a line.
  private static func isShown(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  private func list(
    _ path: String, _ query: String, _ member: StaticString
  ) throws(OperatorFailure) -> [JSONObject] {
    try relay.object("GET", path + query).objects(member)
  }

  private func clients(_ prefix: String) throws(OperatorFailure) -> [String] {
    let search = prefix.isEmpty ? "" : "&search=\(TokenText.percentEncoded(prefix))"
    return try list("/v1/clients", "?limit=\(Self.countMax)\(search)", "clients")
      .compactMap { $0.text("client") }
  }

  private func lanes(of client: String?) throws(OperatorFailure) -> [JSONObject] {
    let filter = client.map { "&client=\(TokenText.percentEncoded($0))" } ?? ""
    return try list("/v1/lanes", "?limit=\(Self.countMax)\(filter)", "lanes")
  }

  /// Lanes as `CLIENT/LANE`; or, while several clients are meant, these as `CLIENT/`.
  private func lanes() throws(OperatorFailure) -> [String] {
    var client = order.prefix.firstIndex(of: "/").map { String(order.prefix[..<$0]) }
    if client == nil {
      let clients = try clients(order.prefix)
      guard clients.count == 1 else { return clients.map { "\($0)/" } }
      client = clients[0]
    }
    return try lanes(of: client).compactMap { lane in
      guard let client = lane.text("client"), let name = lane.text("lane") else { return nil }
      return "\(client)/\(name)"
    }
  }
}
