import EventLoop
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

  /// Counts, asks where that is due, begins, and stays until it has ended.
  func run() throws(OperatorFailure) -> ExitCode {
    let counted = try relay.object("POST", "/v1/operations?dryRun=true", body: body(nil))
    let count = counted.number("matched")
    guard count > 0 else {
      if !context.isJSON { context.say(nothing) }
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
    let progress = OperationProgress(context: context, relay: relay)
    return progress.tell(try progress.follow(id))
  }

  /// What is said if nothing matches.
  private var nothing: String {
    // By itself it is about those that block their lanes, which one may not know.
    action == "discard"
      ? "no envelopes match that block their lanes; 'waystation envelopes cancel' gives up what"
        + " waits"
      : "no envelopes match"
  }

  private func body(_ count: Int64?) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("action", action)
      json.memberObject("filter") { json in
        for (name, value) in filter {
          if name == "status", let status = Int(value) {
            json.member("status", status)
          } else if name == "discarded" {
            json.member(name, value == "true")
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

  /// Whether it may begin.
  ///
  /// What the upstream has taken is sent again only where somebody says so. The same holds for what
  /// is given up.
  private func mayBegin(_ what: String) throws(OperatorFailure) -> Bool {
    switch action {
    case "replay": try context.mayDo("\(what) that the upstream has taken")
    case "discard", "cancel": try context.mayDo(what)
    default: true
    }
  }
}
