import EventLoop
import JSON
import RelayCore

/// `waystation upstreams`: lists, pauses, resumes, probes and tries upstreams.
struct UpstreamsCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    guard context.order.action != "list" else {
      let upstreams = try relay.object("GET", "/v1/upstreams").objects("upstreams")
      if context.isJSON {
        for upstream in upstreams { context.say(upstream.line) }
      } else {
        let lines = UpstreamTable.lines(upstreams, context.terminal, WallClock.now())
        context.say(lines.joined(separator: "\n"))
      }
      return .good
    }
    let name = context.options.operands.first ?? ""
    let path = "/v1/upstreams/\(CommandContext.segment(name))/\(context.order.action)"
    let answer = try relay.object("POST", path)
    if context.isJSON {
      context.say(answer.line)
    } else if let finding = answer.text("finding") {
      context.say("upstream \(SafeText.line(name)): \(SafeText.line(finding))")
    } else if context.order.action == "probe", answer.optionalNumber("waiting") == 0 {
      context.say(
        "nothing waits for upstream \(SafeText.line(name)), so nothing was sent; 'waystation"
          + " upstreams try' connects without an envelope")
    } else if context.order.action == "probe", answer.has("reachable") {
      let lanes = answer.optionalNumber("retriedLanes") ?? 0
      context.say(
        "upstream \(SafeText.line(name)) is reachable; "
          + (lanes == 0
            ? "no lane waits for another attempt"
            : "\(HumanText.counted(lanes, "lane")) that waited for another attempt, now in turn"))
    } else {
      let deed =
        ["pause": "is paused", "resume": "goes on", "probe": "is being probed"][
          context.order.action]
      context.say("upstream \(SafeText.line(name)) \(deed ?? "")")
    }
    return context.order.action != "try" || answer.has("works") ? .good : .failed
  }
}
