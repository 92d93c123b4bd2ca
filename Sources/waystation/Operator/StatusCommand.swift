import EventLoop
import Forwarder
import Glibc
import JSON
import RelayCore

/// `waystation status`: how a relay is, what needs a person first.
struct StatusCommand {
  let desk: Desk
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    guard desk.options.has("--watch") else {
      let status = try ask()
      show(status)
      return isTrouble(status) && desk.options.has("--fail-if-trouble") ? .trouble : .good
    }
    var everyMs: Int64 = 2000
    do throws(UsageError) {
      everyMs = try desk.order.milliseconds("--every") ?? everyMs
    } catch {
      throw OperatorFailure(reason: error.reason, code: .usage)
    }
    while true {
      do throws(OperatorFailure) {
        let status = try ask()
        clear()
        show(status)
      } catch {
        // A relay that restarts is what one may be watching for.
        guard error.mayPass else { throw error }
        clear()
        desk.tell(error)
      }
      poll(nil, 0, Int32(clamping: everyMs))
    }
  }

  private func ask() throws(OperatorFailure) -> JSONObject {
    let status = try relay.object("GET", "/status")
    guard status.text("version") != nil else { throw .noSense }
    return status
  }

  private func clear() {
    if desk.terminal.isTerminal, !desk.isJSON {
      StandardStream.output.write(Array("\u{1B}[H\u{1B}[2J\u{1B}[3J".utf8))
    }
  }

  private func show(_ status: JSONObject) {
    guard !desk.isJSON else { return desk.say(status.line) }
    let text = StatusText(
      status: status, server: relay.server.description, terminal: desk.terminal,
      now: WallClock.now())
    desk.say(text.lines().joined(separator: "\n"))
  }

  private func isTrouble(_ status: JSONObject) -> Bool {
    !StatusText.troubles(status, now: WallClock.now()).isEmpty
  }
}
