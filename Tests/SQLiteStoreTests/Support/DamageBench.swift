import Foundation
import Glibc
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

/// A store with some of everything in it, to be damaged and salvaged.
final class DamageBench {
  let bench: Bench
  let newFolder: String

  var folder: String { bench.folder }
  var database: String { DataFolder.database(in: folder) }

  private init() throws {
    bench = try Bench()
    newFolder = bench.folder + "-new"
  }

  /// Runs a test with a fresh store.
  static func with(_ body: (DamageBench) async throws -> Void) async throws {
    let bench = try DamageBench()
    defer { try? FileManager.default.removeItem(atPath: bench.newFolder) }
    do {
      try await body(bench)
    } catch {
      await bench.bench.tearDown()
      throw error
    }
    await bench.bench.tearDown()
  }

  /// Envelopes that wait, are held, parked, blocked and have ended, of several clients and lanes,
  /// with keys, numbers, long bodies and bodies in files of their own.
  func fill(rounds: Int = 20) async throws {
    var number: Int64 = 0
    for round in 0..<rounds {
      var drafts: [EnvelopeDraft] = []
      for index in 0..<30 {
        let name = round * 30 + index
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: name), count: name % 7 * 900)
        drafts.append(
          bench.draft(
            client: "device-\(name % 5)", lane: "lane-\(name % 3)", body: .inline(body),
            key: name % 4 == 0 ? "key-\(name)" : nil, hold: name % 11 == 10))
      }
      for _ in 0..<2 {
        number += 1
        drafts.append(
          bench.draft(client: "counter", lane: "numbers", fingerprint: 2, sequence: number))
      }
      _ = try await bench.store.append(drafts, isAtomic: false)
      let file = try await bench.store.write(
        [[UInt8](repeating: 7, count: 3000 + round)])
      try await bench.accept(bench.draft(client: "device-0", lane: "files", body: .file(file)))
      try await end(round)
    }
    // A gap, and what waits behind it.
    _ = try await bench.store.append(
      [bench.draft(client: "counter", lane: "numbers", fingerprint: 2, sequence: number + 2)],
      isAtomic: false)
    try await fillTokens()
    try await bench.store.setPaused(
      true, .lane(LaneName(client: "device-1", lane: "lane-1"))
    ) { _ in }
  }

  /// Clients' tokens, operators' and such of keys as were revoked, on several pages.
  private func fillTokens() async throws {
    for index in 0..<200 {
      let client = "device-\(index)"
      let isRevoked = index % 4 == 0
      let grant: TokenRecord.Grant =
        isRevoked ? .revoked(client: client) : index % 50 == 1 ? .operator(.read) : .client(client)
      let number = String(index, radix: 16)
      let record = TokenRecord(
        id: isRevoked
          ? "fleet.\(Hexadecimal.encode(client.utf8))"
          : String(repeating: "0", count: 16 - number.count) + number,
        grant: grant, digest: isRevoked ? [] : [UInt8](repeating: UInt8(index), count: 32),
        label: isRevoked ? nil : String(repeating: "l", count: 150), createdAt: bench.clock.now)
      #expect(try await bench.store.insertToken(record))
    }
  }

  /// Ends some of what waits, and has some fail for now.
  private func end(_ round: Int) async throws {
    let page = try await bench.store.line(after: Serial(round) * 15, countMax: 12)
    let count = bench.observer.recordedCount
    var transitions: [Transition] = []
    for (index, entry) in page.entries.enumerated() where entry.standing == .queued {
      let change: Transition.Change =
        switch index % 4 {
        case 0: .end(.failed, reason: "no")
        case 1: .retry(at: bench.clock.now)
        default: .end(.delivered, reason: "")
        }
      transitions.append(
        Transition(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream, change: change,
          at: bench.clock.now,
          attempt: bench.attempt(1, index % 4 == 1 ? .unreachable : .delivered, status: 200),
          response: index % 4 > 1
            ? UpstreamResponse(
              status: 200, headers: HeaderBlock(), body: [UInt8](repeating: 1, count: index * 50))
            : nil, epoch: 1))
    }
    guard !transitions.isEmpty else { return }
    bench.store.record(transitions)
    await bench.observer.waitUntilRecorded(count + transitions.count)
  }

  /// What a store says of itself.
  struct Contents: Equatable {
    /// What was posted, by the envelope's id.
    var envelopes: [String: String] = [:]
    /// What has become of it.
    var states: [String: String] = [:]
    /// All ids, in order of acceptance.
    var order: [String] = []
    /// The ids of what waits in each lane, in order.
    var line: [String: [String]] = [:]
    var clients: [String: [String]] = [:]
    var pauses = 0
    /// Whom each token stands for, by its id.
    var tokens: [String: TokenRecord.Grant] = [:]
  }

  /// Reads a whole store.
  func contents(ofSalvaged isSalvaged: Bool = false) async throws -> Contents {
    let store =
      isSalvaged ? try SQLiteStore.open(folder: newFolder) : bench.store
    var contents = Contents()
    var after: Serial = 0
    while true {
      let page = try await store.list(
        EnvelopeFilter(states: Set(EnvelopeState.allCases)), after: after, countMax: 500,
        looksMax: 10_000)
      for summary in page.envelopes {
        guard let record = try await store.envelope(summary.id) else { continue }
        let body =
          switch record.draft.content.body {
          case .inline(let bytes): "\(bytes.count) \(bytes.hashValue)"
          case .file(let file):
            "\(FileManager.default.contents(atPath: file.path).map { [UInt8]($0).hashValue } ?? 0)"
          }
        contents.envelopes["\(summary.id)"] =
          "\(record.draft.client) \(record.draft.lane) \(record.draft.key ?? "") "
          + "\(record.draft.sequence ?? 0) \(body)"
        contents.states["\(summary.id)"] =
          "\(record.state) \(record.attemptCount) \(record.attempts) \(record.reason ?? "") "
          + "\(record.missing) \(record.responseStatus ?? 0)"
        contents.order.append("\(summary.id)")
        guard !record.state.isEnd else { continue }
        contents.line["\(record.draft.client)/\(record.draft.lane)", default: []].append(
          "\(summary.id)")
      }
      guard page.hasMore else { break }
      after = page.scannedThrough
    }
    for client in Set(contents.line.keys.map { $0.prefix { $0 != "/" } }) {
      let record = try #require(await store.client(String(client)))
      contents.clients[String(client)] = record.lanes.map { lane in
        let ended = lane.ended.map { "\($0.key) \($0.value)" }.sorted()
        return "\(lane.name) \(lane.lastSequence ?? 0) \(lane.missing) \(lane.skipped) \(ended)"
      }
    }
    contents.pauses = try await store.pauses().count
    for token in try await store.tokens(after: "", client: nil, countMax: 1000).tokens {
      contents.tokens[token.id] = token.grant
    }
    if isSalvaged { await store.close() }
    return contents
  }

  /// Reads the store that a salvage has made.
  func salvaged() async throws -> Contents { try await contents(ofSalvaged: true) }

  /// The first page of a table or an index.
  func rootPage(of name: String) throws -> Int {
    let connection = try Connection(path: database, access: .readOnly)
    return Int(
      try connection.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'"))
  }

  /// The path of the body's file that has most bytes.
  func longestBodyFile() throws -> String {
    let bodies = folder + "/bodies/"
    let paths = try FileManager.default.contentsOfDirectory(atPath: bodies).map { bodies + $0 }
    let lengths = try paths.map { path in
      try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
    return try #require(zip(lengths, paths).max { $0.0 < $1.0 }).1
  }

  /// Changes the database behind the relay's back.
  func execute(_ sql: String) throws {
    try Connection(path: database, access: .readWrite).execute(sql)
  }

  /// Copies the files as they are, as a crash would leave them.
  func copy(to folder: String) throws {
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.copyItem(atPath: self.folder, toPath: folder)
  }

  /// Salvages the store into the new folder.
  func salvage(
    from old: String? = nil
  ) throws -> (report: SalvageReport, findings: [SalvageFinding]) {
    try? FileManager.default.removeItem(atPath: newFolder)
    var findings: [SalvageFinding] = []
    let report = try Salvage.run(
      from: old ?? folder, to: newFolder, note: { finding in findings.append(finding) })
    return (report, findings)
  }

  /// Tells whether any file of the old store has changed.
  func fingerprint() -> [String: Data] {
    var files: [String: Data] = [:]
    for name in FileManager.default.enumerator(atPath: folder)?.allObjects ?? [] {
      if let name = name as? String {
        files[name] = FileManager.default.contents(atPath: "\(folder)/\(name)")
      }
    }
    return files
  }
}
