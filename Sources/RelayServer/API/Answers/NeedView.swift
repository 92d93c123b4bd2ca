import JSON
import RelayCore

/// Something that needs somebody, for operators (`Need` in `openapi.yaml`).
struct NeedView {
  let need: Need

  func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("kind", need.key.kind.rawValue)
      json.member("severity", need.severity.rawValue)
      json.member("since", need.since)
      json.member("title", need.title)
      if let cause = need.cause { json.member("cause", cause) }
      if let upstream = need.key.upstream { json.member("upstream", upstream) }
      if let status = need.status { json.member("status", status) }
      json.member("count", need.count)
      if need.more > 0 { json.member("more", need.more) }
      if let example = need.example { json.memberObject("example") { example.write(to: &$0) } }
      json.memberArray("acts") { json in
        for act in need.acts { act.call.write(to: &json) }
      }
      json.member("page", need.key.kind.page)
    }
  }
}

extension Need.Example {
  /// Writes the members.
  fileprivate func write(to json: inout JSONWriter) {
    json.member("id", id.description)
    if let lane {
      json.member("client", lane.client)
      json.member("lane", lane.lane)
    }
    if let words { json.member("words", words) }
  }
}

/// An act as a call of the API, and as a command.
struct NeedCall {
  /// What it does, in one word.
  var name: String
  /// The method and the path; nil if the relay cannot be called for it.
  var call: (method: String, path: String)?
  /// The body of the call; nil if it has none.
  var body: [UInt8]?
  /// The arguments of `waystation`.
  var command: [String]

  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("name", name)
      if let call {
        json.member("method", call.method)
        json.member("path", call.path)
      }
      if let body { json.member("body", raw: body) }
      json.memberArray("command") { json in
        for word in command { json.string(word) }
      }
    }
  }
}

extension NeedAct {
  /// The act as a call of the API, and as a command.
  var call: NeedCall {
    switch self {
    case .probe(let upstream): steering("probe", upstream)
    case .tryCredentials(let upstream): steering("try", upstream)
    case .pause(let upstream): steering("pause", upstream)
    case .resume(let upstream): steering("resume", upstream)
    case .list(let upstream, let states): listing(upstream, states)
    case .operate(let action, let selection): operation(action, selection)
    case .show(let id):
      NeedCall(
        name: "show", call: ("GET", "/v1/envelopes/\(id)"),
        command: ["envelopes", "show", id.description])
    case .listLanes:
      NeedCall(name: "lanes", call: ("GET", "/v1/lanes"), command: ["lanes", "list"])
    case .listClients:
      NeedCall(name: "clients", call: ("GET", "/v1/clients"), command: ["clients", "list"])
    case .checkConfiguration(let path):
      NeedCall(name: "check", command: ["check", "--config", path])
    case .tryStore(let path):
      NeedCall(name: "try-store", command: ["check", "--config", path, "--try-store"])
    case .acceptKeys(let path):
      NeedCall(name: "accept-keys", command: ["keys", "accept", "--config", path])
    case .checkStore: NeedCall(name: "check-store", command: ["store", "check"])
    }
  }
}

extension NeedAct {
  private func steering(_ action: String, _ upstream: String) -> NeedCall {
    NeedCall(
      name: action, call: ("POST", "/v1/upstreams/\(upstream)/\(action)"),
      command: ["upstreams", action, upstream])
  }

  private func listing(_ upstream: String, _ states: Set<EnvelopeState>) -> NeedCall {
    let words = EnvelopeSelection(states: states).stateWords
    return NeedCall(
      name: "list", call: ("GET", "/v1/envelopes?upstream=\(upstream)&state=\(words)"),
      command: ["envelopes", "list", "--upstream", upstream, "--state", words])
  }

  private func operation(_ action: Operation.Action, _ selection: EnvelopeSelection) -> NeedCall {
    var body = JSONWriter()
    body.object { json in
      json.member("action", action.rawValue)
      json.memberObject("filter") { selection.writeMembers(to: &$0) }
    }
    return NeedCall(
      name: "\(action.rawValue)-all", call: ("POST", "/v1/operations"), body: body.finish(),
      command: ["envelopes", action.rawValue] + selection.commandOptions)
  }
}

extension EnvelopeSelection {
  /// What a need selects by, as the options of the command.
  fileprivate var commandOptions: [String] {
    let options = [
      ("--client", client), ("--lane", lane), ("--upstream", upstream), ("--state", stateWords),
      ("--status", status.map(String.init)), ("--reason", reason),
      ("--discarded", isDiscarded.map { "\($0)" }),
      ("--since", ended.since.map { RFC3339.format($0) }),
    ]
    return options.flatMap { name, value in value.map { [name, $0] } ?? [] }
  }
}
