import JSON
import RelayCore

/// The details of one envelope, in lines for people.
struct EnvelopeDetails {
  let envelope: JSONObject
  /// The upstream's answer; nil if none is kept.
  let answer: EnvelopeAnswer?
  /// The URL of the next relay, which has stored it; nil if none has, or is configured any more.
  var nextRelay: String?
  /// The option that has a hint call the same relay; see ``CommandContext/serverOption``.
  let serverOption: String
  let terminal: Terminal
  let now: WallTime

  func lines() -> [String] {
    let state = envelope.text("state") ?? "?"
    let request = "\(envelope.text("method") ?? "?") \(envelope.text("path") ?? "?")"
    var lines = [
      terminal.styled(SafeText.line(state), EnvelopesCommand.style(of: state) ?? .bold) + "  "
        + terminal.styled(SafeText.line(request), .bold) + " → "
        + SafeText.line(envelope.text("upstream") ?? "?")
    ]
    for (label, text) in facts() where !text.isEmpty {
      lines.append(
        "  " + terminal.styled(label, .faint)
          + String(repeating: " ", count: max(1, 13 - label.count)) + SafeText.line(text))
    }
    if state == "delivered", let id = answer?.nextID { lines += handedOn(as: id) }
    lines += attempts()
    if let answer { lines += answer.lines(on: terminal) }
    if let command = next(state) {
      lines += ["", "next: " + command]
    }
    return lines
  }

  private func facts() -> [(String, String)] {
    func moment(_ name: StaticString) -> String {
      guard let text = envelope.text(name) else { return "" }
      return "\(HumanText.time(text)) UTC"
    }
    func ago(_ name: StaticString) -> String {
      let text = moment(name)
      return text.isEmpty ? "" : "\(text) (\(HumanText.age(envelope.text(name), now: now)) ago)"
    }
    let place = envelope.optionalNumber("position").map { ", place \(HumanText.count($0))" } ?? ""
    return [
      ("id", envelope.text("id") ?? ""),
      ("client", envelope.text("client") ?? ""),
      ("lane", (envelope.text("lane") ?? "") + place),
      ("key", envelope.text("key") ?? ""),
      ("tag", envelope.text("tag") ?? ""),
      ("sequence", envelope.optionalNumber("sequence").map { "\($0)" } ?? ""),
      ("reason", envelope.text("reason") ?? ""),
      ("waits", wait()),
      ("accepted", ago("acceptedAt")),
      ("from", envelope.text("from") ?? ""),
      ("trace", envelope.text("trace") ?? ""),
      ("missing", missing()),
      ("not before", moment("notBefore")),
      ("next attempt", HumanText.wait(envelope.text("nextAttemptAt"), now: now)),
      ("ended", ago("endedAt")),
      ("expires", envelope.text("endedAt") == nil ? moment("expiresAt") : ""),
      ("on failure", envelope.text("onFailure") ?? ""),
      ("body", HumanText.bytes(envelope.number("bodyBytes"))),
      ("error id", envelope.text("errorId") ?? ""),
      ("error", envelope.text("errorMessage") ?? ""),
    ]
  }

  /// Where it went on, and how to ask there.
  private func handedOn(as id: String) -> [String] {
    let place = SafeText.line(nextRelay ?? envelope.text("upstream") ?? "?")
    let option = nextRelay.map { " --server " + SafeText.line(ShellWord.quoted($0)) } ?? ""
    return [
      "", "stored at the next relay, \(place), as \(id); with a token of that relay:",
      "  waystation envelopes show \(id)\(option)",
    ]
  }

  /// Why it waits, if the relay says so.
  private func wait() -> String {
    guard let cause = envelope.text("waitsFor") else { return "" }
    let words =
      switch Hindrance.Cause(rawValue: cause) {
      case .clientPaused: "its client is paused"
      case .lanePaused: "its lane is paused"
      case .upstreamNotConfigured: "its upstream is not configured"
      case .upstreamPaused: "its upstream is paused"
      case .upstreamUnreachable: "its upstream cannot be reached"
      case .upstreamHeld: "its upstream has asked for a wait"
      case .earlier: ""
      case nil: cause
      }
    let behind = envelope.text("waitsBehind").map { "behind \($0), which heads its lane" }
    return [words, behind ?? ""].filter { !$0.isEmpty }.joined(separator: "; ")
  }

  /// Its lane, as a command names it.
  private var lane: String {
    SafeText.line((envelope.text("client") ?? "?") + "/" + (envelope.text("lane") ?? "?"))
  }

  /// The sequence numbers that it waits for.
  private func missing() -> String {
    envelope.objects("missing").map { gap in
      let (first, last) = (gap.number("first"), gap.number("last"))
      return first == last ? "\(first)" : "\(first) to \(last)"
    }.joined(separator: ", ")
  }

  private func attempts() -> [String] {
    let attempts = envelope.objects("attempts")
    guard !attempts.isEmpty else { return ["", "no attempt yet"] }
    var table = TextTable("#ATTEMPT", "AT (UTC)", "#TOOK", "OUTCOME", "#STATUS", "ERROR")
    for attempt in attempts {
      let outcome = attempt.text("outcome") ?? "?"
      table.add(
        .init("\(attempt.number("number"))"), .init(HumanText.time(attempt.text("startedAt"))),
        .init(HumanText.count(attempt.number("durationMs")) + " ms"),
        .init(outcome, outcome == "delivered" ? .good : outcome == "refused" ? .bad : .warning),
        .init(attempt.optionalNumber("status").map { "\($0)" }), .init(attempt.text("error")))
    }
    let left = envelope.number("attemptCount") - Int64(attempts.count)
    let more = left > 0 ? ["(\(HumanText.count(left)) earlier ones are not kept)"] : []
    return [""] + table.lines(on: terminal) + more
  }

  /// Whether the upstream refused what is in it, as far as the status says, so that it would be
  /// refused once more as it is.
  private var isRefusedForContent: Bool {
    [400, 409, 413, 415, 422].contains(envelope.optionalNumber("responseStatus") ?? 0)
  }

  /// The command that a person would use next, if any.
  private func next(_ state: String) -> String? {
    let id = SafeText.line(envelope.text("id") ?? "ID")
    return switch state {
    case "blocked":
      "waystation envelopes retry|edit|discard \(id)\(serverOption)"
        + "\n      its body: waystation envelopes body \(id)\(serverOption)"
    case "failed" where isRefusedForContent:
      "waystation envelopes edit \(id) --body FILE --retry\(serverOption)"
        + "\n      to send it as it is: waystation envelopes requeue \(id)\(serverOption)"
        + "\n      its body: waystation envelopes body \(id)\(serverOption)"
    case "failed", "expired": "waystation envelopes requeue \(id)\(serverOption)"
    case "held": "waystation envelopes retry \(id)\(serverOption)"
    case "parked":
      "waystation lanes skip \(lane)\(serverOption)"
        + "\n      if the missing numbers never come"
    default: nil
    }
  }
}
