import Glibc
import JSON
import RelayCore
import RelayServer
import SQLiteStore

/// `waystation store backup`: copies a store as it is at one moment, and checks the copy.
///
/// SIGINT and SIGTERM end the copying, and then nothing is left of it.
enum BackupCommand {
  static func run(_ folder: String, to target: String, isJSON: Bool) -> ExitCode {
    let bar = ProgressLine()
    let stop = PendingStop()
    do throws(StoreError) {
      let report = try StoreBackup.run(from: folder, to: target) {
        progress throws(StoreError) in
        if stop.isRequested {
          throw StoreError(
            kind: .other, operation: "back up", subject: folder, detail: "it was interrupted.")
        }
        switch progress {
        case .bodies(let count): bar.show("\(count) bodies")
        case .pages(let done, let all): bar.show("\(done) of \(all) pages")
        }
      }
      // From here on the copy is complete.
      stop.release()
      bar.show("checking the copy")
      let verdict = try StoreCheck.run(folder: target)
      try StoreBackup.tidy(target)
      bar.clear()
      StandardStream.output.line(
        isJSON ? json(report, verdict, target) : text(report, verdict, folder, target))
      return verdict.isSound ? .good : .failed
    } catch {
      bar.clear()
      StandardStream.error.line("waystation store backup: \(error)")
      stop.release()
      return .failed
    }
  }

  private static func text(
    _ report: StoreBackup.Report, _ verdict: StoreVerdict, _ folder: String, _ target: String
  ) -> String {
    let bodies = HumanText.numbered(report.bodies, "body in a file", "bodies in files")
    let size = "\(report.pages) pages, \(bodies), \(report.bytes) bytes"
    guard verdict.isSound else {
      return "the copy in \(target) is damaged (\(size))\n"
        + "run 'waystation store check --data \(folder)' to see whether the store itself is"
    }
    return "a sound copy of \(folder) is in \(target): "
      + HumanText.contents(envelopes: verdict.envelopes ?? 0, waiting: verdict.waiting ?? 0)
      + "\n  \(size)\n"
      + "to restore it, stop the relay, put the copy in the place of its data folder, "
      + restoring(folder)
  }

  /// The end of the sentence that says how a copy is restored.
  private static func restoring(_ folder: String) -> String {
    let keys = Configuration.receiptKeysName
    guard access("\(folder)/\(keys)", F_OK) == 0 else { return "and start" }
    return "put \(keys) of that folder into it, and start\n"
      + "  \(keys) is in no copy: keep one of it apart; without it the relay makes new keys, which"
      + " no device trusts"
  }

  private static func json(
    _ report: StoreBackup.Report, _ verdict: StoreVerdict, _ target: String
  ) -> String {
    var json = JSONWriter()
    json.object { json in
      json.member("folder", target)
      json.member("sound", verdict.isSound)
      json.member("inUse", report.isInUse)
      json.member("pages", report.pages)
      json.member("bodyFiles", report.bodies)
      json.member("bytes", report.bytes)
      if let envelopes = verdict.envelopes { json.member("envelopes", envelopes) }
      if let waiting = verdict.waiting { json.member("waiting", waiting) }
    }
    return String(decoding: json.finish(), as: UTF8.self)
  }
}
