import EventLoop
import Forwarder
import Glibc
import JSON
import RelayCore

/// `waystation events`: prints every change as it happens.
struct EventsCommand {
  let context: CommandContext
  let relay: RelayClient

  /// The pause before a stream that has ended is opened again, in milliseconds.
  private static let pauseMs: Int32 = 1000
  /// The longest time of one stream with `--follow`, in milliseconds; it is then opened again, in
  /// case it died unnoticed.
  private static let streamMs = 3_600_000
  /// The longest error response that is read, in bytes.
  private static let refusalBytesMax = 65536

  func run() throws(OperatorFailure) -> ExitCode {
    var listenMs: Int64 = 10_000
    do throws(UsageError) {
      listenMs = try context.order.milliseconds("--for") ?? listenMs
    } catch {
      throw OperatorFailure(reason: error.reason, code: .usage)
    }
    let follows = context.options.has("--follow")
    let reader = EventReader { show($0) }
    reader.lastID = context.options.text("--after")
    repeat {
      let begun = reader.pieceCount
      do throws(OperatorFailure) {
        try listen(reader, timeoutMs: follows ? Self.streamMs : Int(listenMs))
      } catch {
        // The stream was cut, or its time is over: if it had begun, the command is done, or goes on
        // after its last event.
        let hadBegun = reader.pieceCount > begun
        guard error.mayPass, hadBegun || (follows && reader.lastID != nil) else { throw error }
        if follows, !hadBegun { context.note("the relay is away; trying again") }
      }
      if follows { poll(nil, 0, Self.pauseMs) }
    } while follows
    return .good
  }

  private func listen(_ reader: EventReader, timeoutMs: Int) throws(OperatorFailure) {
    let target =
      "/v1/events"
      + context.query([
        ("--client", "client"), ("--lane", "lane"), ("--upstream", "upstream"),
        ("--envelope", "envelope"),
      ])
    var refusal: [UInt8] = []
    reader.begin()
    let more = reader.lastID.map { ["Last-Event-ID: \($0)"] } ?? []
    if more.contains(where: { $0.utf8.contains { $0 < 0x20 } }) { throw .notARelay }
    let answer = try relay.send(
      "GET", target, fields: more + ["Accept: text/event-stream"], timeoutMs: timeoutMs
    ) { status, piece in
      if status == 200 { return reader.take(piece) }
      refusal.append(contentsOf: piece)
      return refusal.count < Self.refusalBytesMax
    }
    guard !reader.isTooLong else { throw .notARelay }
    guard answer.status == 200 else {
      throw .answered(answer.status, refusal, retryAfter: answer.retryAfterSeconds)
    }
  }

  private func show(_ event: EventReader.Event) {
    guard let object = try? JSONValue.parse(Array(event.data.utf8)).object() else { return }
    guard !context.isJSON else {
      var json = JSONWriter()
      json.object { json in
        json.member("event", event.name)
        if let id = event.id { json.member("eventId", id) }
        json.member("data", raw: object.value.raw)
      }
      return context.say(SafeText.json(json.finish()))
    }
    // The state at the start is what 'status' is for.
    guard event.name != "snapshot", event.name != "progress" else { return }
    context.say(line(event.name, object))
  }

  private func line(_ name: String, _ event: JSONObject) -> String {
    let style: Terminal.Style? =
      switch name {
      case "delivered", "resumed", "reachable": .good
      case "failed", "blocked", "expired", "unreachable": .bad
      default: nil
      }
    let word = name + String(repeating: " ", count: max(0, 12 - name.count))
    var parts = [
      context.terminal.styled(HumanText.time(event.text("at")), .faint),
      context.terminal.styled(SafeText.line(word), style),
    ]
    if let client = event.text("client") {
      parts.append(SafeText.line(client + (event.text("lane").map { "/\($0)" } ?? "")))
    } else if let upstream = event.text("upstream") {
      parts.append(SafeText.line(upstream))
    }
    if let id = event.text("id") { parts.append(SafeText.line(id)) }
    if let attempt = event.optionalNumber("attempt") { parts.append("attempt \(attempt)") }
    if let status = event.optionalNumber("status") { parts.append("status \(status)") }
    if let reason = event.text("reason") { parts.append(SafeText.line(reason)) }
    return parts.joined(separator: "  ")
  }
}
