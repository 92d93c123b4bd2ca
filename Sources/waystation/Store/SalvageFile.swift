import EventLoop
import Glibc
import JSON
import RelayCore
import SQLiteStore

/// The report of a salvage: a JSON line for each finding, and a line for people on standard error
/// for the first of them.
final class SalvageFile {
  /// The file's name, in the new data folder.
  static let name = "salvage-report.ndjson"
  /// The number of findings that are written on standard error; the file has all.
  private static let toldMax = 20

  private let path: String
  private var file: FileDescriptor?
  private var count = 0

  /// Prepares a report in a folder that will exist before the first finding.
  init(folder: String) { path = "\(folder)/\(Self.name)" }

  /// Writes a finding.
  func add(_ finding: SalvageFinding) throws(StoreError) {
    count += 1
    if count <= Self.toldMax { StandardStream.error.line(Self.text(finding)) }
    if count == Self.toldMax + 1 { StandardStream.error.line("more are in \(path)") }
    try write(Self.json(finding) + [0x0A])
  }

  /// Syncs the file.
  func finish() throws(StoreError) {
    guard let number = file?.number, fsync(number) != 0 else { return }
    throw failure("sync")
  }

  private func write(_ bytes: [UInt8]) throws(StoreError) {
    if file == nil {
      let number = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw failure("create") }
      file = FileDescriptor(adopting: number)
    }
    guard let number = file?.number, Glibc.write(number, bytes, bytes.count) == bytes.count else {
      throw failure("write")
    }
  }

  private func failure(_ operation: String) -> StoreError {
    let text = strerror(errno).map { String(cString: $0) } ?? ""
    return StoreError(kind: .inputOutput, operation: operation, subject: path, detail: text)
  }

  static func text(_ finding: SalvageFinding) -> String {
    var parts = [finding.kind.rawValue]
    if !finding.table.isEmpty { parts.append("of \(finding.table)") }
    if let page = finding.page { parts.append("on page \(page)") }
    if let row = finding.row { parts.append("number \(row)") }
    if let id = finding.id { parts.append("id \(id)") }
    if let token = finding.token { parts.append("token \(token)") }
    if let client = finding.client { parts.append("client \(client)") }
    if let lane = finding.lane { parts.append("lane \(lane)") }
    return parts.joined(separator: ", ") + ": \(finding.reason)"
  }

  private static func json(_ finding: SalvageFinding) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("kind", finding.kind.rawValue)
      if !finding.table.isEmpty { json.member("table", finding.table) }
      if let page = finding.page { json.member("page", page) }
      if let row = finding.row { json.member("number", row) }
      if let id = finding.id { json.member("id", id.description) }
      if let token = finding.token { json.member("token", token) }
      if let client = finding.client { json.member("client", client) }
      if let lane = finding.lane { json.member("lane", lane) }
      if let time = finding.acceptedAt { json.member("acceptedAt", RFC3339.format(time)) }
      json.member("reason", finding.reason)
    }
    return json.finish()
  }
}
