import EventLoop
import Forwarder
import Glibc
import RelayCore
import Synchronization

// usage: bench-forwarder PORT PARALLEL COUNT
// Forwards COUNT envelopes of 1 KiB to http://127.0.0.1:PORT/bench, PARALLEL at a time, and prints
// how many were answered with a 2xx a second: the counterpart of ceilings/curl-multi.c.

/// Keeps a number of attempts under way until all have been made.
final class Load: Sendable {
  private struct State {
    var forwarder: Forwarder?
    var begun = 0
    var ended = 0
    var answered = 0
  }

  private let target: UpstreamTarget
  private let countMax: Int
  private let content: EnvelopeContent
  private let state = Mutex(State())
  private let done: FileDescriptorPair

  init(target: UpstreamTarget, countMax: Int) {
    self.target = target
    self.countMax = countMax
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: "application/json")
    headers.append(name: "X-Device", value: "bench-device")
    content = EnvelopeContent(
      method: "POST", target: Array("/bench".utf8), headers: headers,
      body: .inline([UInt8](repeating: UInt8(ascii: "x"), count: 1024)))
    done = FileDescriptorPair()
  }

  /// Begins `parallel` attempts and waits for all; how many were answered with a 2xx.
  func run(on forwarder: Forwarder, parallel: Int) -> Int {
    let first = state.withLock { state in
      state.forwarder = forwarder
      return requests(parallel, &state)
    }
    forwarder.submit(first)
    done.wait()
    return state.withLock { $0.answered }
  }

  func ended(_ batch: AttemptBatch) {
    let (forwarder, next, isDone) = state.withLock { state in
      state.ended += batch.reports.count
      for case .answered(let response) in batch.reports.lazy.map(\.event)
      where response.status / 100 == 2 {
        state.answered += 1
      }
      let next = requests(min(batch.reports.count, countMax - state.begun), &state)
      return (state.forwarder, next, state.ended == countMax)
    }
    if !next.isEmpty { forwarder?.submit(next) }
    if isDone { done.signal() }
  }

  private func requests(_ count: Int, _ state: inout State) -> [AttemptRequest] {
    let now = WallClock.now()
    return (0..<count).map { _ in
      state.begun += 1
      let serial = Serial(state.begun)
      return AttemptRequest(
        serial: serial, id: EnvelopeID(serial: serial, acceptedAt: now, random: 7),
        client: "bench", attempt: 1, acceptedAt: now, target: target, content: content)
    }
  }
}

/// A pipe on which one thread waits for another.
struct FileDescriptorPair: Sendable {
  private let ends: (Int32, Int32)

  init() {
    var numbers: [Int32] = [0, 0]
    precondition(pipe(&numbers) == 0, "a pipe is to be had")
    ends = (numbers[0], numbers[1])
  }

  func wait() {
    var byte: UInt8 = 0
    _ = read(ends.0, &byte, 1)
  }

  func signal() {
    var byte: UInt8 = 0
    _ = write(ends.1, &byte, 1)
  }
}

let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
guard numbers.count == 3 else { exit(2) }
let target = try UpstreamTarget(
  name: "bench", url: UpstreamURL("http://127.0.0.1:\(numbers[0])"), maxConcurrent: numbers[1])
let load = Load(target: target, countMax: numbers[2])
let forwarder = try Forwarder(targets: [target]) { load.ended($0) }
let start = MonotonicClock.now()
let answered = load.run(on: forwarder, parallel: numbers[1])
let elapsed = Double(MonotonicClock.now().nanoseconds - start.nanoseconds) / 1e9
let rate = Int(Double(answered) / elapsed)
_ = "\(rate)\n".withCString { write(1, $0, strlen($0)) }
exit(answered == numbers[2] ? 0 : 1)
