import EventLoop
import Glibc
import JSON
import RelayCore

/// An action on all envelopes that a filter matches, carried out as one operation of the relay's.
struct OperationStart {
  let context: CommandContext
  let relay: RelayClient
  /// The action, as the relay calls it.
  let action: String
  /// The filter, as the relay reads it.
  let filter: [(name: String, value: String)]

  /// The pause between two looks at its progress, in milliseconds.
  private static let lookMs: UInt32 = 200

  /// Counts, asks where that is due, begins, and stays until it has ended.
  func run() throws(OperatorFailure) -> ExitCode {
    let counted = try relay.object("POST", "/v1/operations?dryRun=true", body: body(nil))
    let count = counted.number("matched")
    guard count > 0 else {
      if !context.isJSON { context.say("no envelopes match") }
      return .good
    }
    let more = counted.has("more") ? " and more (for another operation)" : ""
    let what = "\(action) \(count) \(count == 1 ? "envelope" : "envelopes")\(more)"
    guard try mayBegin(what) else {
      context.note("nothing was done")
      return .failed
    }
    let begun = try relay.object("POST", "/v1/operations", body: body(count))
    guard let id = begun.text("id") else { throw .notARelay }
    return tell(try follow(id, what))
  }

  private func body(_ count: Int64?) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("action", action)
      json.memberObject("filter") { json in
        for (name, value) in filter {
          if name == "status", let status = Int(value) {
            json.member("status", status)
          } else {
            json.name(name)
            json.string(value)
          }
        }
      }
      if context.options.has("--fresh-keys") { json.member("idempotencyKeys", "fresh") }
      if let count { json.member("expectedCount", count) }
    }
    return json.finish()
  }

  /// Whether it may begin: what the upstream has taken is sent again only where somebody says so.
  private func mayBegin(_ what: String) throws(OperatorFailure) -> Bool {
    guard action == "replay", !context.options.has("--yes") else { return true }
    guard isatty(0) == 1, !context.isJSON else {
      throw OperatorFailure(
        reason: "this would \(what) that the upstream has taken; give --yes to have it done",
        code: .usage)
    }
    StandardStream.error.write(Array("\(what) that the upstream has taken? [y/N] ".utf8))
    return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
  }

  private func follow(_ id: String, _ what: String) throws(OperatorFailure) -> JSONObject {
    let bar = ProgressBar()
    defer { bar.clear() }
    while true {
      let operation = try relay.object("GET", "/v1/operations/\(id)")
      guard operation.text("state") == "running" else { return operation }
      let count = operation.number("done") + operation.number("failed")
      bar.show(
        Double(count) / Double(max(1, operation.number("matched"))), "operation \(id): \(what)")
      usleep(Self.lookMs * 1000)
    }
  }

  private func tell(_ operation: JSONObject) -> ExitCode {
    let failed = operation.number("failed")
    let state = operation.text("state") ?? "?"
    if context.isJSON {
      context.say(operation.line)
    } else {
      let id = operation.text("id") ?? "?"
      var line = "operation \(SafeText.line(id)) is \(SafeText.line(state)): \(action), "
      line += "\(operation.number("done")) of \(operation.number("matched")) done"
      if failed > 0 { line += ", \(failed) left as they were" }
      context.say(line)
      for problem in operation.objects("problems") {
        context.say(
          "  \(problem.number("count")) × \(SafeText.line(problem.text("title") ?? "?")), such as "
            + SafeText.line(problem.text("example") ?? "?"))
      }
    }
    return state == "done" && failed == 0 ? .good : .failed
  }
}
