import EventLoop
import Forwarder
import Glibc
import JSON
import RelayCore

/// `waystation status`: shows how a relay is, with what needs a person first.
struct StatusCommand {
  let context: CommandContext
  let relay: RelayClient

  func run() throws(OperatorFailure) -> ExitCode {
    guard context.options.has("--watch") else {
      let status = try ask()
      show(status)
      return isTrouble(status) && context.options.has("--fail-if-trouble") ? .trouble : .good
    }
    var everyMs: Int64 = 2000
    do throws(UsageError) {
      everyMs = try context.order.milliseconds("--every") ?? everyMs
    } catch {
      throw OperatorFailure(reason: error.reason, code: .usage)
    }
    while true {
      do throws(OperatorFailure) {
        let status = try ask()
        clear()
        show(status)
      } catch {
        // The watched relay may be restarting, so the command goes on.
        guard error.mayPass else { throw error }
        clear()
        context.tell(error)
      }
      poll(nil, 0, Int32(clamping: everyMs))
    }
  }

  private func ask() throws(OperatorFailure) -> JSONObject {
    let status = try relay.object("GET", "/status")
    guard status.text("version") != nil else { throw .notARelay }
    return status
  }

  private func clear() {
    if context.terminal.isTerminal, !context.isJSON {
      StandardStream.output.write(Array("\u{1B}[H\u{1B}[2J\u{1B}[3J".utf8))
    }
  }

  private func show(_ status: JSONObject) {
    guard !context.isJSON else { return context.say(status.line) }
    let text = StatusText(
      status: status, server: relay.server.description, serverOption: context.serverOption,
      terminal: context.terminal, now: WallClock.now())
    context.say(text.lines().joined(separator: "\n"))
  }

  private func isTrouble(_ status: JSONObject) -> Bool {
    !StatusText.troubles(status, now: WallClock.now()).isEmpty
  }
}
