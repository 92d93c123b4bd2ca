import EventLoop
import JSON
import RelayCore

/// `waystation upstreams`: lists, pauses, resumes and probes upstreams.
struct UpstreamsCommand {
  let desk: Desk
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    guard desk.order.action != "list" else {
      let upstreams = try relay.object("GET", "/v1/upstreams").objects("upstreams")
      if desk.isJSON {
        for upstream in upstreams { desk.say(upstream.line) }
      } else {
        let lines = UpstreamTable.lines(upstreams, desk.terminal, WallClock.now())
        desk.say(lines.joined(separator: "\n"))
      }
      return .good
    }
    let name = desk.options.operands.first ?? ""
    let path = "/v1/upstreams/\(Desk.segment(name))/\(desk.order.action)"
    let answer = try relay.object("POST", path)
    if desk.isJSON {
      desk.say(answer.line)
    } else {
      let deed =
        ["pause": "is paused", "resume": "goes on", "probe": "is being probed"][desk.order.action]
      desk.say("upstream \(SafeText.line(name)) \(deed ?? "")")
    }
    return .good
  }
}
