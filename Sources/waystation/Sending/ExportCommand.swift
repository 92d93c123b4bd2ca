import EventLoop
import Glibc
import JSON
import RelayCore

/// `waystation export`: writes envelopes as NDJSON, page by page.
final class ExportCommand {
  private let context: CommandContext
  private let relay: RelayClient
  private let bar = ProgressBar()
  private var note = ProgressNote()
  private var file: FileDescriptor?
  private let hasContent: Bool
  /// The number of envelopes whose content the relay could not read.
  private var bareCount: Int64 = 0

  init(context: CommandContext, relay: RelayClient) {
    self.context = context
    self.relay = relay
    hasContent = !context.options.has("--no-content")
  }

  func run() throws(OperatorFailure) -> ExitCode {
    let target = context.options.text("--to")
    if let target { try open(target) }
    if note.filter == nil { note.filter = try context.selectionQuery() }
    let list = PagedList(
      relay: relay, path: "/v1/envelopes",
      filter: [note.filter ?? ""].filter { !$0.isEmpty }, member: "envelopes")
    defer { bar.clear() }
    try list.pages(limit: nil, from: note.cursor) { page, cursor throws(OperatorFailure) in
      var bytes: [UInt8] = []
      for envelope in page {
        if let line = try self.line(envelope) { bytes += line + [0x0A] }
      }
      try write(bytes)
      note.lines += Int64(page.count)
      note.bytes += Int64(bytes.count)
      note.cursor = cursor
      note.mark = mark
      if let target, cursor != nil { try note.write(target) }
      bar.show(nil, HumanText.counted(note.lines, "envelope"))
    }
    bar.clear()
    if let target { ProgressNote.remove(target) }
    finish(target)
    return .good
  }

  private func finish(_ target: String?) {
    if bareCount > 0 {
      context.note(
        HumanText.counted(bareCount, "envelope")
          + (bareCount == 1 ? " was" : " were") + " written without header fields and body: the"
          + " relay cannot read them any more. 'waystation store check' says what is damaged.")
    }
    if let target {
      context.note("\(HumanText.counted(note.lines, "envelope")) written to \(target)")
    }
  }

  /// Opens the file to write, at the end of what an earlier run has noted.
  private func open(_ target: String) throws(OperatorFailure) {
    let old = ProgressNote.read(target)
    let isThere = access(target, F_OK) == 0
    if isThere, old == nil {
      throw OperatorFailure(
        reason: "\(target) exists, and is no unfinished export; name another file, or remove it")
    }
    if let old, old.mark != mark {
      throw OperatorFailure(
        reason: "\(target) was begun with another filter; give the same one, or remove the file and"
          + " \(ProgressNote.path(of: target))")
    }
    let number = Glibc.open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw failure(target) }
    file = FileDescriptor(adopting: number)
    if let old, isThere {
      note = old
      // Whatever was written after the last note is requested again.
      guard ftruncate(number, off_t(old.bytes)) == 0 else { throw failure(target) }
      lseek(number, off_t(old.bytes), SEEK_SET)
      context.note("going on after \(HumanText.counted(old.lines, "envelope"))")
    } else {
      note.mark = mark
      note.filter = try context.selectionQuery()
      try note.write(target)
    }
  }

  /// What an unfinished export is recognised by: the selection as it was typed.
  private var mark: String {
    ProgressNote.digest(
      SelectionOptions.rules.compactMap { rule in
        context.options.text(rule.name).map { "\(rule.name)=\($0)" }
      }.joined(separator: "&").utf8)
  }

  private func failure(_ path: String) -> OperatorFailure {
    let error = SystemError(code: errno, operation: "write", subject: path)
    return OperatorFailure(reason: "\(path) cannot be written: \(error.reason)")
  }

  private func write(_ bytes: [UInt8]) throws(OperatorFailure) {
    guard let number = file?.number else { return StandardStream.output.write(bytes) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
      if count < 0, errno != EINTR { throw failure(context.options.text("--to") ?? "") }
      rest = rest.dropFirst(max(0, count))
    }
    guard fdatasync(number) == 0 else { throw failure(context.options.text("--to") ?? "") }
  }

  // MARK: - One envelope

  /// An envelope as a line; nil if it was deleted while the list was read.
  private func line(_ envelope: JSONObject) throws(OperatorFailure) -> [UInt8]? {
    let id = envelope.text("id") ?? ""
    guard hasContent else { return Array(envelope.line.utf8) }
    do throws(OperatorFailure) {
      let request = try relay.object("GET", "/v1/envelopes/\(CommandContext.segment(id))/request")
      let body =
        request.number("bodyBytes") == 0
        ? [] : try relay.call("GET", "/v1/envelopes/\(CommandContext.segment(id))/body")
      return Self.line(envelope, request, body)
    } catch {
      switch error.status {
      case 404 where error.kind == "unknown-envelope": return nil
      case 409:
        bareCount += 1
        return Array(envelope.line.utf8)
      case 401, 403, 404:
        throw OperatorFailure(
          reason: error.reason + " With --no-content header fields and bodies are left out.",
          code: error.code, status: error.status, kind: error.kind)
      default: throw error
      }
    }
  }

  /// The envelope as a line with its body and its header fields, several of one name together.
  static func line(_ envelope: JSONObject, _ request: JSONObject, _ body: [UInt8]) -> [UInt8] {
    var names: [String] = []
    var values: [String: [String]] = [:]
    for field in (try? request["headers"]?.array()).map(Array.init) ?? [] {
      let pair = ((try? field.array()).map(Array.init) ?? []).compactMap { try? $0.string() }
      guard pair.count == 2 else { continue }
      let name = names.first { $0.lowercased() == pair[0].lowercased() } ?? pair[0]
      if values[name] == nil { names.append(name) }
      values[name, default: []].append(pair[1])
    }
    var json = JSONWriter()
    json.object { json in
      for member in envelope { json.member(member.name.string, raw: member.value.raw) }
      json.memberObject("headers") { json in
        for name in names {
          let all = values[name] ?? []
          if all.count == 1 {
            json.member(name, all[0])
          } else {
            json.memberArray(name) { json in for value in all { json.string(value) } }
          }
        }
      }
      if !body.isEmpty {
        json.member("bodyBase64", Base64.text(of: body))
      }
    }
    return Array(SafeText.json(json.finish()).utf8)
  }
}
