import Glibc
import Synchronization
import WaystationOutbox
import WaystationOutboxCurl

// usage: bench-outbox enqueue FOLDER TASKS SECONDS
//        bench-outbox fill FOLDER COUNT
//        bench-outbox open FOLDER
//        bench-outbox upload FOLDER PORT COUNT
// Measures a device's outbox, and prints one line of JSON. `enqueue` hands over items of 1 KiB from
// so many tasks, each of which waits for its item to be on the disk. `open` opens what was filled,
// and asks for the first page. `upload` brings items to a relay, over one connection.

/// Counts the items of posts that a relay has answered.
final class Counting: Transport {
  private let transport = CurlTransport()
  private let state: Mutex<(left: Int, done: CheckedContinuation<Void, Never>?)>

  init(_ count: Int) { state = Mutex((count, nil)) }

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    let response = try await transport.send(exchange, progress: progress)
    guard response.status == 200, case .bytes(let bytes) = exchange.body else { return response }
    // The first line is the question of a check-in.
    let items = bytes.count { $0 == UInt8(ascii: "\n") } - 1
    let done = state.withLock { state in
      state.left -= items
      return state.left <= 0 ? state.done : nil
    }
    done?.resume()
    return response
  }

  /// Returns once all have been answered.
  func wait() async {
    await withCheckedContinuation { continuation in state.withLock { $0.done = continuation } }
  }
}

func seconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The most memory that the process has had, in MiB (proc_pid_status(5), VmHWM).
///
/// `getrusage` would count what the process was forked from as well.
func residentMiB() -> Double {
  guard let file = fopen("/proc/self/status", "r") else { return .nan }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while fgets(&line, Int32(line.count), file) != nil {
    let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
      .split { " \t\n".contains($0) }
    if words.first == "VmHWM:", let kibibytes = Double(words[1]) { return kibibytes / 1024 }
  }
  return .nan
}

func settings(_ folder: String, port: String = "9", transport: any Transport) -> Settings {
  var settings = Settings(
    folder: folder, destination: .relay(base: "http://127.0.0.1:\(port)", client: "bench"),
    transport: transport)
  settings.limits.items = 4_000_000
  settings.limits.bytes = 16 << 30
  settings.startPaused = true
  return settings
}

func request(_ number: Int) -> Request {
  Request(
    "POST", "/bench",
    .bytes([UInt8](repeating: UInt8(ascii: "x"), count: 1024), type: "text/plain"),
    headers: [("X-Number", "\(number)")])
}

func fail(_ words: String) -> Never {
  let line = Array("bench-outbox: \(words)\n".utf8)
  _ = write(2, line, line.count)
  exit(2)
}

let words = CommandLine.arguments
guard words.count >= 3 else { fail("enqueue, fill, open or upload, and a folder") }
switch (words[1], words.count) {
case ("enqueue", 5):
  guard let tasks = Int(words[3]), let duration = Double(words[4]) else { fail("no numbers") }
  let outbox = try await Outbox.open(settings(words[2], transport: CurlTransport()))
  let start = seconds()
  let count = try await withThrowingTaskGroup(of: Int.self) { group in
    for task in 0..<tasks {
      group.addTask {
        var count = 0
        while seconds() - start < duration {
          try await outbox.enqueue(request(task))
          count += 1
        }
        return count
      }
    }
    var sum = 0
    while let count = try await group.next() { sum += count }
    return sum
  }
  print("{\"rate\": \(Double(count) / (seconds() - start)), \"count\": \(count)}")
  await outbox.close()
case ("fill", 4):
  guard let count = Int(words[3]) else { fail("no number") }
  let outbox = try await Outbox.open(settings(words[2], transport: CurlTransport()))
  for first in stride(from: 0, to: count, by: 500) {
    let batch = (first..<min(first + 500, count)).map { (request($0), Options()) }
    try await outbox.enqueue(batch)
  }
  print("{\"count\": \(count)}")
  await outbox.close()
case ("open", 3):
  let start = seconds()
  let outbox = try await Outbox.open(settings(words[2], transport: CurlTransport()))
  let opened = seconds() - start
  let first = await outbox.items(limit: 100).count
  let waiting = await outbox.status()?.waiting ?? 0
  print(
    "{\"openMs\": \(opened * 1000), \"first\": \(first), \"waiting\": \(waiting), "
      + "\"residentMiB\": \(residentMiB())}")
  await outbox.close()
case ("upload", 5):
  guard let count = Int(words[4]) else { fail("no number") }
  let transport = Counting(count)
  let outbox = try await Outbox.open(
    settings(words[2], port: words[3], transport: transport))
  for first in stride(from: 0, to: count, by: 500) {
    let batch = (first..<min(first + 500, count)).map { (request($0), Options()) }
    try await outbox.enqueue(batch)
  }
  let start = seconds()
  async let answered: Void = transport.wait()
  try await outbox.resume()
  await answered
  print("{\"rate\": \(Double(count) / (seconds() - start))}")
  await outbox.close()
default:
  fail("enqueue FOLDER TASKS SECONDS, fill FOLDER COUNT, open FOLDER, upload FOLDER PORT COUNT")
}
