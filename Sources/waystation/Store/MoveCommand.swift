import Glibc
import JSON
import RelayCore
import RelayServer

/// `waystation store move` and `reopen`: from a data folder into a database, and back.
///
/// SIGINT and SIGTERM end the copying; the next move to the same place begins it anew.
enum MoveCommand {
  static func run(
    from source: String, to target: String, passwordFile: String?, environmentFiles: [String],
    isJSON: Bool
  ) -> ExitCode {
    let bar = ProgressLine()
    let stop = PendingStop()
    do {
      let places = (
        from: try place(source, passwordFile, environmentFiles),
        to: try place(target, passwordFile, environmentFiles)
      )
      if let flaw = flaw(in: places) { return fail("move", flaw) }
      let report = try StoreMover.run(from: places.from, to: places.to) {
        step throws(StoreError) in
        if stop.isRequested {
          throw StoreError(
            kind: .other, operation: "move", subject: source, detail: "it was interrupted.")
        }
        bar.show(text(step))
      }
      stop.release()
      bar.clear()
      StandardStream.output.line(isJSON ? json(report) : text(report))
      return .good
    } catch {
      bar.clear()
      let code = fail("move", "\(error)")
      stop.release()
      return code
    }
  }

  /// Lets a relay start again on a store that was moved away.
  static func reopen(
    _ word: String, passwordFile: String?, environmentFiles: [String]
  ) -> ExitCode {
    do {
      let place = try place(word, passwordFile, environmentFiles)
      if let flaw = place.flaw { return fail("reopen", flaw) }
      guard let target = try StoreMover.reopen(place) else {
        return fail("reopen", "\(StorePlace.isURL(word) ? "it" : word) was not moved away")
      }
      StandardStream.output.line(
        "a relay may start on it again. It was moved to \(target): what waited then waits in both,"
          + " and what was accepted there since is there alone. If that place is lost, so is that")
      return .good
    } catch {
      return fail("reopen", "\(error)")
    }
  }

  private static func fail(_ action: String, _ reason: String) -> ExitCode {
    StandardStream.error.line("waystation store \(action): \(reason)")
    return .failed
  }

  // MARK: - Places

  /// A place as the command line names it: a URL, a configuration file, or a folder.
  private static func place(
    _ word: String, _ passwordFile: String?, _ environmentFiles: [String]
  ) throws(PlaceFailure) -> StorePlace {
    guard !StorePlace.isURL(word), isFile(word) else {
      return StorePlace(word, passwordFile: passwordFile)
    }
    guard isObject(word) else {
      throw PlaceFailure(
        description:
          "\(word) is a file, and no configuration of a relay: name that, a data folder, "
          + "or the postgresql:// URL of a database")
    }
    var source = ConfigurationSource()
    source.configPath = word
    source.environmentFiles = environmentFiles
    do throws(ConfigurationSource.Failure) {
      let variables = try source.variables(over: Environment.variables()) { line in
        StandardStream.error.line("warning: \(line)")
      }
      let place = StorePlace(of: try source.load(environment: variables))
      if variables["WAYSTATION_POSTGRES_URL"]?.isEmpty == false {
        StandardStream.error.line(
          "warning: WAYSTATION_POSTGRES_URL is set: it names the store in place of what is in "
            + word)
      }
      return place
    } catch {
      throw PlaceFailure(
        description: "the configuration \(word) has a problem: "
          + error.problems.joined(separator: "; "))
    }
  }

  /// Whether a file begins as a JSON object does; true if it cannot be read, which is told later.
  private static func isObject(_ path: String) -> Bool {
    guard let file = fopen(path, "rb") else { return true }
    defer { fclose(file) }
    var byte = getc(file)
    while byte >= 0, byte <= 0x20 { byte = getc(file) }
    return byte == Int32(UInt8(ascii: "{"))
  }

  /// Something that cannot be told from the command line.
  private struct PlaceFailure: Error, CustomStringConvertible {
    let description: String
  }

  private static func isFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  private static func flaw(in places: (from: StorePlace, to: StorePlace)) -> String? {
    if let flaw = places.from.flaw ?? places.to.flaw { return flaw }
    guard places.from.isDatabase == places.to.isDatabase else { return nil }
    return places.from.isDatabase
      ? "both are databases: the database's own tools copy it"
      : "both are folders: 'waystation store backup' copies one"
  }

  // MARK: - What is told

  private static func text(_ step: StoreMove.Step) -> String {
    switch step {
    case .copying(let table, let rows): "copying: \(table.title), \(rows) rows"
    case .comparing(let table, let rows): "comparing: \(table.title), \(rows) rows"
    }
  }

  private static func text(_ report: StoreMover.Report) -> String {
    let rows = report.move.rows
    let (source, target) = report.places
    var lines: [String] = []
    if report.move.isRepeated {
      return "\(source) had been moved to \(target) before, and is there: nothing is left to do"
    }
    if report.move.isResumed {
      lines.append(
        "the move of \(source) to \(target) had been cut off at its end, and is finished")
    } else {
      let waiting = rows[.line] ?? 0
      lines.append(
        "all of \(source) is in \(target): "
          + HumanText.contents(envelopes: waiting + (rows[.ended] ?? 0), waiting: waiting))
    }
    if report.changedCount > 0 {
      lines.append(
        HumanText.numbered(report.changedCount, "ended envelope has", "ended envelopes have")
          + " bytes that changed or were lost since they were accepted: do not replay them")
    }
    let keys = Configuration.receiptKeysName
    if access("\(source)/\(keys)", F_OK) == 0 {
      lines.append(
        "\(keys) of \(source) is not moved: put it where receipts.keys of the relay there says;"
          + " without it that relay makes new keys, which no device trusts")
    }
    lines.append("start the relay there; none starts on \(source) any more")
    return lines.joined(separator: "\n")
  }

  private static func json(_ report: StoreMover.Report) -> String {
    var json = JSONWriter()
    json.object { json in
      json.member("from", report.places.from)
      json.member("to", report.places.to)
      json.member("resumed", report.move.isResumed)
      json.member("repeated", report.move.isRepeated)
      json.member("changedEnded", report.changedCount)
      if !report.move.isResumed, !report.move.isRepeated {
        json.memberObject("rows") { json in
          for table in MovedTable.allCases {
            json.member(table.rawValue, report.move.rows[table] ?? 0)
          }
        }
      }
    }
    return String(decoding: json.finish(), as: UTF8.self)
  }
}
