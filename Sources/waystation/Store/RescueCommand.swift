import Glibc
import JSON

/// `waystation store rescue`: has a relay whose files are gone write its data to a new folder.
enum RescueCommand {
  /// The time limit of a rescue, in milliseconds: a day, enough for a store of any size.
  private static let timeoutMs = 86_400_000

  static func run(to target: String, _ options: OptionReader) -> ExitCode {
    _ = signal(SIGPIPE, SIG_IGN)
    do throws(OperatorFailure) {
      let relay = try RelayClient(options, Environment.variables())
      var body = JSONWriter()
      body.object { $0.member("to", target) }
      let bytes = try relay.call(
        "POST", "/v1/store/rescue", body: body.finish(), timeoutMs: timeoutMs)
      guard let report = try? JSONValue.parse(bytes).object(), report.text("folder") != nil else {
        throw .notARelay
      }
      StandardStream.output.line(
        options.has("--json") ? report.line : text(report, target))
      return .good
    } catch {
      StandardStream.error.line("waystation store rescue: \(error.reason)")
      return error.code
    }
  }

  private static func text(_ report: JSONObject, _ target: String) -> String {
    let missing = report.number("missingBodyFiles")
    var lines = [
      "everything that the relay holds is in \(target)",
      "  \(report.number("pages")) pages, \(report.number("bodyFiles")) bodies in files, "
        + "\(report.number("bytes")) bytes",
    ]
    if missing > 0 {
      lines.append(
        "  \(missing) bodies in files are gone: those envelopes will block their lanes, as"
          + " quarantined")
    }
    lines.append(
      "stop the relay now, put that folder in the place of its data folder, and start: what"
        + " it delivers in between is delivered again")
    return lines.joined(separator: "\n")
  }
}
