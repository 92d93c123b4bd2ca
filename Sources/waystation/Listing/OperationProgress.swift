import EventLoop
import Glibc
import JSON
import RelayCore

/// How far an operation has come: followed to its end, and told in lines.
struct OperationProgress {
  let context: CommandContext
  let relay: RelayClient

  /// The pause between two looks at its progress, in milliseconds.
  private static let lookMs: UInt32 = 200

  /// The operation of an id.
  func look(at id: String) throws(OperatorFailure) -> JSONObject {
    try relay.object("GET", "/v1/operations/\(id)")
  }

  /// Stays until an operation has ended.
  func follow(_ id: String) throws(OperatorFailure) -> JSONObject {
    let bar = ProgressBar()
    defer { bar.clear() }
    while true {
      let operation = try look(at: id)
      guard operation.text("state") == "running" else { return operation }
      let count = operation.number("done") + operation.number("failed")
      let matched = operation.number("matched")
      bar.show(
        Double(count) / Double(max(1, matched)),
        "operation \(id): \(SafeText.line(operation.text("action") ?? "?")),"
          + " \(count) of \(HumanText.numbered(matched, "envelope"))")
      usleep(Self.lookMs * 1000)
    }
  }

  /// Tells how an operation stands.
  ///
  /// - Returns: Whether it has ended, and has done all that it was to do.
  @discardableResult
  func tell(_ operation: JSONObject) -> ExitCode {
    let failed = operation.number("failed")
    let state = operation.text("state") ?? "?"
    if context.isJSON {
      context.say(operation.line)
    } else {
      let id = operation.text("id") ?? "?"
      let action = operation.text("action") ?? "?"
      var line = "operation \(SafeText.line(id)) is \(SafeText.line(state)): "
      line += "\(SafeText.line(action)), "
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
