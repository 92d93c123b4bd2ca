import EventLoop
import JSON
import RelayCore
import SQLiteStore

/// `waystation store`: maintains a store, mostly while no relay uses it.
enum StoreCommand {
  static func run(_ order: StoreOrder) -> ExitCode {
    switch order {
    case .check(let data, let isJSON): check(folder(data), isJSON: isJSON)
    case .salvage(let data, let target): salvage(notingMove(of: folder(data)), to: target)
    case .backup(let data, let target, let isJSON):
      BackupCommand.run(notingMove(of: folder(data)), to: target, isJSON: isJSON)
    case .move(let source, let target, let passwordFile, let environmentFiles, let isJSON):
      MoveCommand.run(
        from: source, to: target, passwordFile: passwordFile, environmentFiles: environmentFiles,
        isJSON: isJSON)
    case .reopen(let place, let passwordFile, let environmentFiles):
      MoveCommand.reopen(place, passwordFile: passwordFile, environmentFiles: environmentFiles)
    case .rescue(let target, let options): RescueCommand.run(to: target, options)
    }
  }

  private static func folder(_ data: String?) -> String {
    let variable = Environment.variables()["WAYSTATION_DATA"].flatMap { $0.isEmpty ? nil : $0 }
    return data ?? variable ?? "./data"
  }

  /// Says that a store is not in use any more, since what is made from it has no mark.
  private static func notingMove(of folder: String) -> String {
    if let place = SQLiteStore.placeMovedTo(from: folder) {
      StandardStream.error.line(
        "warning: the store in \(folder) has been moved to \(place): what is made here is as it was"
          + " then, and a relay that is started on it delivers again what the other one has")
    }
    return folder
  }

  // MARK: - Checking

  private static func check(_ folder: String, isJSON: Bool) -> ExitCode {
    do throws(StoreError) {
      let verdict = try StoreCheck.run(folder: folder)
      StandardStream.output.line(isJSON ? json(verdict) : text(verdict, folder))
      return verdict.isSound ? .good : .failed
    } catch {
      StandardStream.error.line("waystation store check: \(error)")
      return .unchecked
    }
  }

  /// The text for people.
  static func text(_ verdict: StoreVerdict, _ folder: String) -> String {
    var lines = ["the store in \(folder) is \(verdict.isSound ? "sound" : "damaged")"]
    lines.append(
      "  \(verdict.pages) pages of \(verdict.pageBytes) bytes, schema \(verdict.schemaVersion)"
        + (verdict.isInUse ? ", in use by a relay" : ""))
    if let envelopes = verdict.envelopes {
      lines.append(
        "  \(HumanText.contents(envelopes: envelopes, waiting: verdict.waiting ?? 0)), "
          + HumanText.numbered(verdict.bodies ?? 0, "body in a file", "bodies in files"))
    }
    for finding in verdict.findings {
      lines.append("")
      lines.append("\(finding.kind): \(finding.count)")
      lines.append("  \(finding.meaning)")
      for example in finding.examples { lines.append("    \(example)") }
      if finding.count > finding.examples.count {
        lines.append("    and \(finding.count - finding.examples.count) more")
      }
    }
    if !verdict.isSound { lines += [""] + verdict.advice }
    return lines.joined(separator: "\n")
  }

  private static func json(_ verdict: StoreVerdict) -> String {
    var json = JSONWriter()
    json.object { json in
      json.member("sound", verdict.isSound)
      json.member("inUse", verdict.isInUse)
      json.member("schemaVersion", verdict.schemaVersion)
      json.member("pages", verdict.pages)
      json.member("pageBytes", verdict.pageBytes)
      if let envelopes = verdict.envelopes { json.member("envelopes", envelopes) }
      if let waiting = verdict.waiting { json.member("waiting", waiting) }
      if let bodies = verdict.bodies { json.member("bodyFiles", bodies) }
      json.memberArray("findings") { json in
        for finding in verdict.findings {
          json.object { json in
            json.member("kind", finding.kind)
            json.member("count", finding.count)
            json.member("meaning", finding.meaning)
            json.memberArray("examples") { json in
              for example in finding.examples { json.string(example) }
            }
          }
        }
      }
    }
    return String(decoding: json.finish(), as: UTF8.self)
  }

  // MARK: - Salvaging

  private static func salvage(_ folder: String, to target: String) -> ExitCode {
    let report = SalvageFile(folder: target)
    let bar = ProgressLine()
    do throws(StoreError) {
      let result = try Salvage.run(from: folder, to: target) {
        finding throws(StoreError) in
        try report.add(finding)
      } progress: { done, all in
        bar.show("\(done) of \(all) pages")
      }
      bar.clear()
      try report.finish()
      StandardStream.output.line(text(result, target))
      return .good
    } catch {
      bar.clear()
      StandardStream.error.line("waystation store salvage: \(error)")
      return .failed
    }
  }

  private static func text(_ report: SalvageReport, _ target: String) -> String {
    var lines = [
      "a new store is in \(target): "
        + HumanText.contents(envelopes: report.envelopes, waiting: report.waiting) + ", "
        + HumanText.numbered(report.bodies, "body in a file", "bodies in files")
    ]
    let tokens = report.tokens
    if tokens != CarriedTokens() {
      lines.append(
        HumanText.numbered(tokens.tokens, "token") + " and "
          + HumanText.numbered(
            tokens.revocations, "revoked token of a key", "revoked tokens of keys")
          + " were carried over"
      )
    }
    if tokens.unreadable != 0 {
      lines.append("not all of the tokens could be read: compare GET /v1/tokens with your own list")
    }
    if report.isWhole {
      lines.append("nothing is lost, as far as can be told")
    } else {
      let kinds = report.findings.sorted { $0.key.rawValue < $1.key.rawValue }
      let counts = kinds.map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
      lines.append("not everything could be carried over: \(counts)")
      lines.append("each is named in \(target)/\(SalvageFile.name)")
    }
    return lines.joined(separator: "\n")
  }
}
