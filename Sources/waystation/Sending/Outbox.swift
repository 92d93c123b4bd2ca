import Forwarder
import Glibc
import JSON

/// Posts the lines of a file in batches, in order, and records its progress.
final class Outbox {
  /// The decision on a line before it is posted.
  enum Reading {
    case post([UInt8])
    case skip
    case refuse(String)
  }

  /// The numbers of lines by result.
  struct Counts: Equatable {
    var accepted: Int64 = 0
    var duplicates: Int64 = 0
    var refused: Int64 = 0
    var skipped: Int64 = 0
  }

  private struct Item {
    let line: Int64
    let json: [UInt8]
  }

  /// The size at which a batch is posted, in bytes; the relay's own limit is 32 MiB by default.
  private static let postBytesMax = 8 << 20
  /// The longest wait for a relay that is full or away, in seconds.
  private static let patienceSeconds = 300
  private static let markBytes = 4096
  /// The statuses with which a post is refused as a whole because of something in it.
  private static let refusalStatuses = [400, 413, 422]

  private let context: CommandContext
  private let relay: RelayClient
  private let path: String
  private let batchMax: Int
  private let read: (ArraySlice<UInt8>, Int64) -> Reading
  private let bar = ProgressBar()
  private(set) var counts = Counts()
  private var refused = RefusedLines()
  private var note = ProgressNote()
  private var items: [Item] = []
  private var itemBytes = 0

  /// - Parameter read: Decides on a line, by its bytes and its number.
  init(
    _ context: CommandContext, _ relay: RelayClient, path: String, batchMax: Int,
    read: @escaping (ArraySlice<UInt8>, Int64) -> Reading
  ) {
    self.context = context
    self.relay = relay
    self.path = path
    self.batchMax = batchMax
    self.read = read
  }

  /// Posts all lines that are not posted yet.
  func run() throws(OperatorFailure) -> ExitCode {
    let file = try LineFile(path)
    resume(file)
    defer { tellRefused() }
    while let line = try file.next() {
      note.lines += 1
      take(line)
      if items.count >= batchMax || itemBytes >= Self.postBytesMax { try flush(file) }
    }
    try flush(file)
    if file.isSeekable { ProgressNote.remove(path) }
    tellRefused()
    tell()
    return counts.refused == 0 ? .good : .failed
  }

  private func resume(_ file: LineFile) {
    guard file.isSeekable else { return }
    let old = ProgressNote.read(path)
    note.mark = ""
    guard let old, old.bytes > 0, old.bytes <= file.bytes ?? 0,
      old.mark == ProgressNote.digest(file.head(Int(min(old.bytes, Int64(Self.markBytes)))))
    else { return }
    note = old
    file.skip(to: old.bytes)
    context.note("going on after line \(old.lines), where an earlier run ended")
  }

  private func take(_ line: ArraySlice<UInt8>) {
    guard line.contains(where: { $0 > 0x20 }) else { return }
    switch read(line, note.lines) {
    case .post(let json):
      items.append(Item(line: note.lines, json: json))
      itemBytes += json.count
    case .skip: counts.skipped += 1
    case .refuse(let reason): refuse(note.lines, reason)
    }
  }

  private func refuse(_ line: Int64, _ reason: String) {
    counts.refused += 1
    guard refused.add(line, reason) else { return }
    bar.clear()
    context.note("line \(line): \(SafeText.line(reason))")
  }

  /// Tells of the lines of which the same is true as of an earlier one.
  private func tellRefused() {
    bar.clear()
    for words in refused.rest { context.note(words) }
    refused = RefusedLines()
  }

  // MARK: - Posting

  private func flush(_ file: LineFile) throws(OperatorFailure) {
    var rest = items
    items = []
    itemBytes = 0
    var waited = 0
    while !rest.isEmpty {
      let before = rest.count
      let (left, pause) = try post(rest)
      rest = left
      if rest.count < before { waited = 0 }
      guard let pause, !rest.isEmpty else { continue }
      guard waited < Self.patienceSeconds else {
        throw OperatorFailure(
          reason: "the relay has accepted nothing for \(Self.patienceSeconds) s. The same command"
            + " goes on from here.")
      }
      if waited == 0 {
        bar.clear()
        context.note("the relay accepts nothing now; trying again in \(pause) s, and so on")
      }
      sleep(UInt32(pause))
      waited += pause
    }
    try remember(file)
  }

  private func remember(_ file: LineFile) throws(OperatorFailure) {
    note.bytes = file.offset
    if file.isSeekable {
      note.mark = ProgressNote.digest(file.head(Int(min(note.bytes, Int64(Self.markBytes)))))
      try note.write(path)
    }
    let share = file.bytes.map { $0 == 0 ? 1 : Double(note.bytes) / Double($0) }
    bar.show(share, "\(HumanText.count(note.lines)) lines")
  }

  /// Posts items.
  ///
  /// - Returns: The items to post again, and the seconds to wait before that.
  private func post(_ items: [Item]) throws(OperatorFailure) -> ([Item], Int?) {
    var body: [UInt8] = []
    for item in items { body += item.json + [0x0A] }
    do throws(OperatorFailure) {
      let answer = try batch(body)
      return try settle(items, answer)
    } catch {
      if let status = error.status, Self.refusalStatuses.contains(status) {
        guard items.count > 1 else {
          refuse(items[0].line, error.reason)
          return ([], nil)
        }
        // The batch is larger than this relay takes, or one item spoils the rest: half of it first.
        let (left, pause) = try post(Array(items.prefix(items.count / 2)))
        return (left + items.dropFirst(items.count / 2), pause)
      }
      guard error.mayPass else { throw error }
      return (items, min(max(error.retryAfterSeconds ?? 2, 1), 30))
    }
  }

  /// The results, one for each item, also if nothing was accepted.
  private func batch(_ body: [UInt8]) throws(OperatorFailure) -> [JSONObject] {
    var bytes: [UInt8] = []
    let answer = try relay.send(
      "POST", "/v1/envelopes", fields: ["Content-Type: application/x-ndjson"], body: body,
      timeoutMs: RelayClient.timeoutMs
    ) { _, piece in
      bytes.append(contentsOf: piece)
      return bytes.count < RelayClient.answerBytesMax
    }
    let results = (try? JSONValue.parse(bytes).object())?.objects("results") ?? []
    guard !results.isEmpty else {
      guard !(200...299).contains(answer.status) else { throw .notARelay }
      throw .answered(answer.status, bytes, retryAfter: answer.retryAfterSeconds)
    }
    return results
  }

  /// Counts the results of items.
  ///
  /// - Throws: ``OperatorFailure`` unless each item has one result: an item that the relay does not
  ///   mention was not accepted.
  private func settle(
    _ items: [Item], _ results: [JSONObject]
  ) throws(OperatorFailure) -> ([Item], Int?) {
    var again: [Item] = []
    for (item, result) in zip(items, try Self.inOrder(results, count: items.count)) {
      switch result.text("result") {
      case "accepted", "coalesced", "void": counts.accepted += 1
      case "duplicate": counts.duplicates += 1
      default:
        let problem = result.object("problem")
        if [429, 503, 507].contains(problem?.number("status")) {
          again.append(item)
        } else {
          refuse(item.line, Self.words(problem))
        }
      }
    }
    return (again, again.isEmpty ? nil : 5)
  }

  /// The results by their indices; each item has to have one.
  private static func inOrder(
    _ results: [JSONObject], count: Int
  ) throws(OperatorFailure) -> [JSONObject] {
    var found = [JSONObject?](repeating: nil, count: count)
    for result in results {
      guard let number = result.optionalNumber("index"), let index = Int(exactly: number),
        found.indices.contains(index), found[index] == nil
      else { throw .notARelay }
      found[index] = result
    }
    guard results.count == count else { throw .notARelay }
    return found.compactMap { $0 }
  }

  private static func words(_ problem: JSONObject?) -> String {
    let detail = problem?.text("detail") ?? problem?.text("title") ?? "refused"
    return detail + (problem?.text("fix").map { " \($0)" } ?? "")
  }

  private func tell() {
    guard !context.isJSON else {
      var json = JSONWriter()
      json.object { json in
        json.member("lines", note.lines)
        json.member("accepted", counts.accepted)
        json.member("duplicates", counts.duplicates)
        json.member("refused", counts.refused)
        json.member("skipped", counts.skipped)
      }
      return context.say(String(decoding: json.finish(), as: UTF8.self))
    }
    var parts = [HumanText.counted(counts.accepted, "envelope") + " accepted"]
    if counts.duplicates > 0 {
      parts.append("\(HumanText.count(counts.duplicates)) there already")
    }
    if counts.skipped > 0 { parts.append("\(HumanText.count(counts.skipped)) left out") }
    if counts.refused > 0 { parts.append("\(HumanText.count(counts.refused)) refused") }
    context.say(parts.joined(separator: ", "))
  }
}

extension CommandContext {
  /// The most lines in one post.
  func batchMax() throws(OperatorFailure) -> Int {
    do throws(UsageError) {
      return try order.number("--batch", 1...1000) ?? 500
    } catch {
      throw OperatorFailure(reason: error.reason, code: .usage)
    }
  }
}
