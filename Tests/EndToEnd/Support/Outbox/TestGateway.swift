import Foundation
import Glibc
import WaystationOutbox
import WaystationOutboxCurl

/// One of the example's gateways, with its folder, its disk and its network.
///
/// It is started again as often as it ends, as a service manager does.
final class TestGateway: Sendable {
  private struct State: CustomStringConvertible {
    var process: ChildProcess?
    /// The test's end of what the process reads.
    var input: Int32 = -1
    /// The lines that the process was given, in their order.
    var given: [Int] = []
    /// The lines that former processes have acknowledged, by the items' numbers.
    var kept: [Int64: Int] = [:]
    var isDown = false
    var isDiskFailing = false
    /// Whether the process may end by itself, since its disk fails or has failed.
    var mayEnd = false
    var starts = 0
    /// What former processes have written.
    var errors = ""
    var violations: [String] = []
    var description: String { "\(kept.count) kept by former processes; \(errors.suffix(500))" }
  }

  let number: Int
  /// When its copy of a body goes.
  let custody: Custody
  /// Whether the relay has to sign how each line has ended.
  let keepsEvidence: Bool
  let link: NetworkLink
  let disk: DiskShim
  private let home: TemporaryFolder
  private let state = Monitor(State())

  init(
    _ number: Int, _ custody: Custody, keepsEvidence: Bool = false, to relay: UInt16
  ) throws {
    self.number = number
    self.custody = custody
    self.keepsEvidence = keepsEvidence
    home = try TemporaryFolder()
    link = try NetworkLink(to: relay)
    disk = try DiskShim(watching: home.path + "/outbox")
  }

  deinit { state.read { if $0.input >= 0 { Glibc.close($0.input) } } }

  // MARK: - Its process

  /// The built program, which lies beside the relay's.
  static var program: String {
    (Waystation.path as NSString).deletingLastPathComponent + "/outbox-gateway"
  }

  /// Whether it asks for receipts.
  var hasReceipts: Bool { custody != .accepted || keepsEvidence }

  /// The lane of its lines.
  var lane: Lane { keepsEvidence ? "sales" : "readings" }

  /// Its name at the relay.
  var client: String { "gateway-\(number)" }

  private func start() throws {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw SocketError(operation: "socketpair", code: errno)
    }
    defer { Glibc.close(ends[1]) }
    let arguments =
      [
        "--folder", disk.watched, "--relay", link.url, "--client", client, "--lane", "\(lane)",
        "--path", GatewayLine.path(of: number), "--custody", "\(custody)", "--wait-max", "1",
        "--acknowledge", "--drain", "60",
      ] + (keepsEvidence ? ["--evidence"] : [])
    let process = try ChildProcess(
      "sh", ["-c", "exec \"$0\" \"$@\" <&3 3<&-", Self.program] + arguments,
      environment: disk.environment(isRecorded: false), descriptors: [ends[1]])
    state.change { state in
      state.process = process
      state.input = ends[0]
      state.given = []
      state.mayEnd = state.isDiskFailing
      state.starts += 1
    }
  }

  /// Takes down what a process that has ended has left.
  private func note(_ process: ChildProcess, _ ending: Ending, mayEnd: [Ending]) {
    state.change { state in
      for (id, line) in zip(Self.ids(process), state.given) { state.kept[id] = line }
      state.errors += process.errors
      Glibc.close(state.input)
      state.input = -1
      state.process = nil
      let isExpected = mayEnd.contains(ending) || state.mayEnd && ending == .exit(1)
      if !isExpected {
        state.violations.append("\(client) ended: \(ending), \(process.errors.suffix(1000))")
      }
    }
  }

  /// The items of the lines that a process has acknowledged, in the order of the lines.
  private static func ids(_ process: ChildProcess) -> [Int64] {
    let output = process.output
    // The last line may not be whole yet.
    let whole = output[..<(output.lastIndex(of: "\n") ?? output.startIndex)]
    return whole.split(separator: "\n").compactMap { line in
      line.hasPrefix("kept ") ? Int64(line.dropFirst("kept ".count)) : nil
    }
  }

  // MARK: - What is done to it

  /// Kills it; it stays down until ``comeUp()``.
  func goDown() async throws {
    state.change { $0.isDown = true }
    state.read(\.process)?.signal(SIGKILL)
    let _: Bool = try await state.wait("end of \(client)") { $0.process == nil ? true : nil }
  }

  /// Is started again.
  func comeUp() { state.change { $0.isDown = false } }

  /// Has its disk fail, so that it may end by itself, and waits until it has met that.
  func failDisk(_ calls: DiskShim.Calls, with error: Int32) async throws {
    state.change { state in
      state.isDiskFailing = true
      state.mayEnd = true
    }
    disk.fail(calls, with: error)
    try await eventually("call that fails on the disk of \(client)") {
      disk.injectedCount > 0 ? true : nil
    }
  }

  /// Does something, and waits until the gateway has said some words once more.
  func says(_ words: String, after work: () -> Void) async throws {
    func count() -> Int { errors.ranges(of: words).count }
    let before = count()
    work()
    try await eventually("\"\(words)\" of \(client)") { count() > before ? true : nil }
  }

  /// Its disk is as it should be.
  ///
  /// One that has met an error may yet end of it.
  func healDisk() {
    disk.heal()
    disk.pretend(freeBytes: nil)
    state.change { $0.isDiskFailing = false }
  }

  // MARK: - What it is given

  /// Gives it lines, one after the other, until nothing more is to come, and has it send the rest.
  ///
  /// - Parameters:
  ///   - acknowledged: Is told of each acknowledgement.
  ///   - isOver: Says that nothing more is to come; everything works again by then.
  func run(
    acknowledged: Monitor<Int>, until isOver: Monitor<Bool>, seed: UInt64
  ) async throws {
    var generator = SeededGenerator(seed: seed)
    var next = 0
    while !isOver.read({ $0 }) {
      guard let process = try await running(mayEnd: [.signal(SIGKILL)]) else { continue }
      let lines = next..<next + Int.random(in: 1...4, using: &generator)
      let before = state.read(\.given.count)
      next = lines.upperBound
      try await write(lines)
      // A few are left under way, for kills to come between.
      let wanted = before + lines.count - Int.random(in: 0...4, using: &generator)
      let count = try await kept(process, wanted)
      acknowledged.change { $0 += count }
      try await rest(milliseconds: Int.random(in: 0...25, using: &generator))
    }
    try await end()
  }

  /// Waits until so many lines were acknowledged, or nothing more comes.
  ///
  /// - Returns: How many have been acknowledged since the last time.
  private func kept(_ process: ChildProcess, _ wanted: Int) async throws -> Int {
    let before = state.read { _ in Self.ids(process).count }
    guard wanted > before else { return 0 }
    return try await process.outputLines(count: wanted, seconds: 60).count - before
  }

  /// The process; nil if there is none just now.
  private func running(mayEnd: [Ending]) async throws -> ChildProcess? {
    if let process = state.read(\.process) {
      guard process.hasEnded else { return process }
      note(process, try await process.ending(), mayEnd: mayEnd)
      try await rest(milliseconds: 30)
    }
    let isDown = state.read(\.isDown)
    if isDown { try await rest(milliseconds: 10) } else { try start() }
    return nil
  }

  private func write(_ lines: Range<Int>) async throws {
    let text = lines.map { GatewayLine(gateway: number, number: $0).text + "\n" }.joined()
    let input = state.change { state -> Int32 in
      state.given += lines
      return state.input
    }
    try await onThread {
      var bytes = Array(text.utf8)[...]
      while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes {
          Glibc.send(input, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count < 0 && errno == EINTR { continue }
        // It has ended.
        guard count > 0 else { return }
        bytes = bytes.dropFirst(count)
      }
    }
  }

  /// Tells it that no more comes, and waits until everything has ended.
  private func end() async throws {
    while true {
      guard let process = try await running(mayEnd: [.signal(SIGKILL)]) else { continue }
      state.read { _ = Glibc.shutdown($0.input, Int32(SHUT_WR)) }
      let ending = try await process.ending(seconds: 80)
      note(process, ending, mayEnd: [.exit(0), .signal(SIGKILL)])
      if ending == .exit(0) || !violations.isEmpty { return }
    }
  }

  /// Lines come now and then, as readings do.
  private func rest(milliseconds: Int) async throws {
    try Task.checkCancellation()
    let state = state
    _ = try await onThread {
      state.block(seconds: Double(milliseconds) / 1000) { _ -> Bool? in nil }
    }
  }

  // MARK: - What is known of it

  /// Everything that it has written to its standard error.
  var errors: String { state.read { $0.errors + ($0.process?.errors ?? "") } }

  /// How often it was started.
  var starts: Int { state.read(\.starts) }

  /// How it has ended against all expectation.
  var violations: [String] { state.read(\.violations) }

  /// The lines that were acknowledged, by their items; once it has ended.
  var kept: [Int64: Int] { state.read(\.kept) }

  /// The last number that it has a receipt of; 0 for none.
  var signedFor: Int {
    let words = "signed for \(lane) up to "
    return errors.split(separator: "\n").filter { $0.hasPrefix(words) }
      .compactMap { Int($0.dropFirst(words.count)) }.max() ?? 0
  }

  /// Looks at what is on its disk, while it is down, and holds it to its custody.
  func outbox() throws -> OutboxCopy {
    let outbox = try OutboxCopy(of: disk.watched)
    let early: Set<Int64> =
      switch keepsEvidence ? .delivered : custody {
      case .accepted: []
      case .receipt: outbox.unproven
      case .delivered: outbox.letGo
      }
    guard !early.isEmpty else { return outbox }
    state.change {
      $0.violations.append("\(client) has let go too early of \(early.sorted().prefix(10))")
    }
    return outbox
  }

  /// How items have ended, as it has stored it; once it has ended.
  ///
  /// Where the relay has to sign that, only those are told that it has signed.
  func outcomes(of ids: [Int64]) async throws -> [Int64: Outcome] {
    var settings = Settings(
      folder: disk.watched, destination: .relay(base: link.url, client: client),
      transport: CurlTransport())
    settings.startPaused = true
    let outbox = try await Outbox.open(settings)
    var outcomes: [Int64: Outcome] = [:]
    for id in ids {
      let item = Item.ID(raw: id)
      guard case .ended(let outcome)? = await outbox.item(item)?.state else { continue }
      if keepsEvidence, await outbox.evidence(item)?.ending == nil { continue }
      outcomes[id] = outcome
    }
    await outbox.close()
    return outcomes
  }
}
