import Glibc
import WaystationOutbox
import WaystationOutboxCurl

/// Reads readings, one a line, and posts each as JSON by way of a relay, whenever there is one.
@main
struct Gateway {
  /// The most bytes of one line.
  private static let lineBytesMax = 1 << 20

  private let arguments: Arguments
  private let outbox: Outbox

  // On the main thread: reading blocks it, and Swift's own threads go on.
  @MainActor static func main() async {
    // Whoever reads what is told may end; the readings go on.
    signal(SIGPIPE, SIG_IGN)
    do throws(Arguments.Fault) {
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      if arguments.showsKey, let key = arguments.publicKey {
        write(key + "\n", to: 1)
        exit(0)
      }
      exit(await run(arguments))
    } catch {
      write(error.words + "\n", to: error.isHelp ? 1 : 2)
      exit(error.isHelp ? 0 : 2)
    }
  }

  @MainActor private static func run(_ arguments: Arguments) async -> Int32 {
    if arguments.prints != nil, access(arguments.folder + "/outbox.sqlite3", F_OK) != 0 {
      say("there is no outbox in \(arguments.folder)")
      return 1
    }
    let outbox: Outbox
    do throws(OutboxError) {
      outbox = try await Outbox.open(arguments.settings)
    } catch {
      say("cannot open \(arguments.folder): \(words(of: error))")
      // What is wrong with the settings is so the next time, too.
      if case .invalid = error { return 2 }
      return 1
    }
    let gateway = Gateway(arguments: arguments, outbox: outbox)
    if let printed = arguments.prints {
      let lines = await gateway.lines(printed)
      await outbox.close()
      if lines.isEmpty {
        say("there is nothing of the lane \(arguments.lane) for an audit: is that its --lane?")
      }
      return write(lines.joined(), to: 1) && !lines.isEmpty ? 0 : 1
    }
    // Begun before the first line, so that no event is missed.
    let events = outbox.events()
    let telling = Task.detached { await gateway.tell(events) }
    var status: Int32 = await gateway.takeLines() ? 0 : 1
    if status == 0, let limit = arguments.drain, await !gateway.drain(within: limit) { status = 1 }
    await outbox.close()
    await telling.value
    return status
  }

  private static func words(of error: OutboxError) -> String {
    switch error {
    case .owned(let pid): "another process has it open" + (pid.map { ", pid \($0)" } ?? "")
    case .newerSchema(let number): "a newer version has written it (schema \(number))"
    case .invalid(let words), .io(let words): words
    }
  }

  // MARK: - Readings

  /// Takes lines until there are no more; false if one cannot be kept, or was too long.
  @MainActor private func takeLines() async -> Bool {
    var rest: [UInt8] = []
    var (isLeftOut, hasLeftOut) = (false, false)
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(0, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let isKept = rest.isEmpty || isLeftOut ? true : await keep([rest])
        return isKept && !hasLeftOut
      }
      rest += buffer[..<count]
      var lines = rest.split(separator: 0x0A, omittingEmptySubsequences: false)
      rest = Array(lines.removeLast())
      // The end of a line is no reading.
      if isLeftOut, !lines.isEmpty {
        lines.removeFirst()
        isLeftOut = false
      }
      let kept = lines.filter { $0.count <= Self.lineBytesMax }
      var isTooLong = kept.count < lines.count
      if isLeftOut {
        rest = []
      } else if rest.count > Self.lineBytesMax {
        (rest, isLeftOut, isTooLong) = ([], true, true)
      }
      if isTooLong {
        hasLeftOut = true
        Self.say("left out: a line has more than \(Self.lineBytesMax) bytes. Post it as an upload")
      }
      guard await keep(kept.filter { !$0.isEmpty }.map(Array.init)) else { return false }
    }
  }

  /// Keeps some lines, all of them or none, and acknowledges them.
  @MainActor private func keep(_ lines: [[UInt8]]) async -> Bool {
    guard !lines.isEmpty else { return true }
    let options = Options(lane: arguments.lane)
    let batch = lines.map { line in
      (Request("POST", arguments.path, .bytes(line, type: "application/json")), options)
    }
    while true {
      do throws(EnqueueError) {
        let ids = try await outbox.enqueue(batch)
        if arguments.acknowledges { Self.write(ids.map { "kept \($0)\n" }.joined(), to: 1) }
        return true
      } catch {
        Self.say("cannot keep a line: \(error)")
        guard case .full = error else { return false }
        // Whoever writes the lines waits as well: nothing is read meanwhile.
        try? await Task.sleep(for: .seconds(1))
      }
    }
  }

  // MARK: - What becomes of them

  /// Tries to have everything end in time.
  private func drain(within limit: Duration) async -> Bool {
    let end = ContinuousClock.now + limit
    var pause = Duration.milliseconds(250)
    while true {
      _ = await outbox.run(within: max(.zero, end - .now))
      guard let status = await outbox.status() else { return false }
      if status.waiting == 0 { return true }
      guard ContinuousClock.now < end else {
        Self.say(status.waiting == 1 ? "1 is left" : "\(status.waiting) are left")
        return false
      }
      // Each run cuts the outbox's own waits short, so they must not follow each other closely.
      try? await Task.sleep(for: min(pause, max(.zero, end - .now)))
      pause = min(pause * 2, .seconds(5))
    }
  }

  /// What an audit takes of the lane.
  private func lines(_ printed: Printed) async -> [String] {
    switch printed {
    case .receipts: await outbox.receipts(arguments.lane).map { $0.json + "\n" }
    case .ledger: await outbox.ledger(arguments.lane)
    }
  }

  private func tell(_ events: Events) async {
    var doubtsReceipts = arguments.wantsReceipts
    var toldFailure: String?
    for await event in events {
      switch event {
      case .accepted where doubtsReceipts:
        let makesReceipts = await outbox.status()?.lanes[arguments.lane]?.makesReceipts
        if makesReceipts == false {
          Self.say(
            "the relay makes no receipts: bodies stay until it is known how readings have ended")
        }
        doubtsReceipts = makesReceipts == nil
      case .ended(let id, .delivered): Self.say("ended \(id) delivered")
      case .ended(let id, .refused(_, let error)): Self.say("ended \(id) refused: \(error.message)")
      case .ended(let id, let outcome): Self.say("ended \(id): \(outcome)")
      case .errorRecorded(let id, let error): Self.say("stands at \(id): \(error.message)")
      case .unreachable(let failure): Self.say("unreachable: \(failure.reason)")
      case .limited(_, let reason): Self.say("waits: \(reason)")
      case .damaged(let words): Self.say("damaged: \(words)")
      case .storeFailing(let words): Self.say("waits for the disk: \(words)")
      case .signerFailing(let failure):
        // It is asked again and again.
        if failure.reason != toldFailure {
          Self.say("cannot sign: \(failure.reason) (by --unsigned, its readings go unsigned)")
        }
        toldFailure = failure.reason
      case .receipt(let receipt): Self.say("signed for \(receipt.lane) up to \(receipt.last)")
      case .custodyBroken(let lane, .headDiffers): Self.say("no proof for \(lane): headDiffers")
      case .custodyBroken(let lane, let fault): Self.say("no proof for \(lane): \(fault)")
      case .relayBehind(let lane, let first, let last):
        Self.say("the relay has lost numbers \(first) to \(last) of \(lane)")
      case .rejoined(let lane): Self.say("goes on in \(lane) above the relay's numbers")
      case .credentialsRefused:
        Self.say(arguments.tokenFile.flatMap(TokenFile.fault) ?? "the relay refuses the token")
        askAgain()
      default: break
      }
    }
  }

  /// Somebody may put another token into the file.
  private func askAgain() {
    let outbox = outbox
    Task.detached {
      try? await Task.sleep(for: .seconds(30))
      await outbox.wake()
    }
  }

  // MARK: - Output

  private static func say(_ words: String) { write(words + "\n", to: 2) }

  /// Writes a text; false if nobody takes it.
  @discardableResult
  private static func write(_ text: String, to descriptor: Int32) -> Bool {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      // Nobody reads it any more; the readings go on.
      guard count > 0 else { return false }
      bytes = bytes.dropFirst(count)
    }
    return true
  }
}
