import Foundation
import Glibc

/// How a process ended.
enum Ending: Sendable, Equatable {
  case exit(Int32)
  case signal(Int32)
}

/// A program that runs beside the test, and what it wrote.
final class ChildProcess: Sendable {
  private struct State {
    var output = ""
    var errors = ""
    var openPipes = 2
    var ending: Ending?
  }

  /// The process's number.
  let number: pid_t
  /// What signals are sent to: the process, or its group.
  private let target: pid_t
  private let state = Monitor(State())

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - environment: The whole of it; nothing is inherited but `PATH` and a sanitizer's options.
  ///   - descriptors: What it has open from the third descriptor on.
  ///   - leadsGroup: Whether it gets a process group of its own, so that signals reach whatever it
  ///     starts, as those of a terminal do.
  init(
    _ program: String, _ arguments: [String], environment: [String: String] = [:],
    descriptors: [Int32] = [], leadsGroup: Bool = false
  ) throws {
    let outputs = try Self.pipe()
    defer { close(outputs.1) }
    let errors = try Self.pipe()
    defer { close(errors.1) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, outputs.1, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.1, 2)
    // Out of the way first, so that none takes another one's place before that is copied.
    let moved = descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 100) }
    defer { for descriptor in moved { close(descriptor) } }
    for (index, descriptor) in moved.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, descriptor, 3 + Int32(index))
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Threads of a task have all signals blocked, which a program would go on with.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    let group = leadsGroup ? POSIX_SPAWN_SETPGROUP : 0
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | group))
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let variables = ["PATH": path, "SWIFT_BACKTRACE": "enable=no"]
      .merging(Self.sanitizerOptions) { _, given in given }
      .merging(environment) { own, given in given.hasSuffix(".so") ? "\(own):\(given)" : given }
      .map { "\($0)=\($1)" }
    var number: pid_t = 0
    let code = Self.withCStrings([program] + arguments) { arguments in
      Self.withCStrings(variables) { variables in
        posix_spawnp(&number, program, &actions, &attributes, arguments, variables)
      }
    }
    guard code == 0 else {
      close(outputs.0)
      close(errors.0)
      throw SocketError(operation: "start \(program)", code: code)
    }
    self.number = number
    target = leadsGroup ? -number : number
    drain(outputs.0, into: \.output)
    drain(errors.0, into: \.errors)
    reap()
  }

  deinit {
    // A test that failed half-way must leave nothing running.
    if state.read(\.ending) == nil { Glibc.kill(target, SIGKILL) }
  }

  /// What scripts/test-sanitized says to the sanitizer, for the programs that tests start as well.
  ///
  /// Its library is loaded beside a test's own (`LD_PRELOAD` is a list).
  private static let sanitizerOptions = ProcessInfo.processInfo.environment.filter {
    ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains($0.key)
      || $0.key == "LD_PRELOAD" && $0.value.hasSuffix("mutex-for-tsan.so")
  }

  /// Two connected descriptors that no other child inherits.
  ///
  /// Swift does not see `pipe2`, and a descriptor that is marked only after `pipe` could be
  /// inherited in between.
  private static func pipe() throws -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw SocketError(operation: "socketpair", code: errno)
    }
    return (ends[0], ends[1])
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }

  private func drain(_ descriptor: Int32, into part: any WritableKeyPath<State, String> & Sendable)
  {
    let state = state
    Thread.detachNewThread {
      var chunk = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = Glibc.read(descriptor, &chunk, chunk.count)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { break }
        state.change { $0[keyPath: part] += String(decoding: chunk[..<count], as: UTF8.self) }
      }
      close(descriptor)
      state.change { $0.openPipes -= 1 }
    }
  }

  private func reap() {
    let (state, number) = (state, number)
    Thread.detachNewThread {
      var status: Int32 = 0
      while waitpid(number, &status, 0) < 0 && errno == EINTR {}
      let signal = status & 0x7F
      let ending: Ending = signal == 0 ? .exit(status >> 8 & 0xFF) : .signal(signal)
      state.change { $0.ending = ending }
    }
  }

  /// What it has written to its standard output.
  var output: String { state.read(\.output) }
  /// What it has written to its standard error.
  var errors: String { state.read(\.errors) }

  /// Whether it has ended, and all that it wrote has been read.
  var hasEnded: Bool { state.read { $0.openPipes == 0 && $0.ending != nil } }

  /// Sends a signal, unless it has ended.
  func signal(_ signal: Int32) {
    state.read { if $0.ending == nil { Glibc.kill(target, signal) } }
  }

  /// Waits for its end, and for the last of what it wrote.
  @discardableResult
  func ending(seconds: Double = 30) async throws -> Ending {
    try await state.wait("end of process \(number)", seconds: seconds) {
      $0.openPipes == 0 ? $0.ending : nil
    }
  }

  /// Waits for the first line of its standard output.
  func firstLine(seconds: Double = 30) async throws -> String {
    try await state.wait("first line of process \(number)", seconds: seconds) { state in
      if let end = state.output.firstIndex(of: "\n") { return String(state.output[..<end]) }
      return state.ending != nil && state.openPipes == 0 ? "" : nil
    }
  }

  /// Waits for the first lines of its standard output; fewer if it ends before.
  func outputLines(count: Int, seconds: Double = 30) async throws -> [String] {
    try await state.wait("\(count) lines of process \(number)", seconds: seconds) { state in
      let lines = state.output.split(separator: "\n").map(String.init)
      let isComplete = lines.count > count || lines.count == count && state.output.last == "\n"
      return isComplete || state.ending != nil && state.openPipes == 0
        ? Array(lines.prefix(count)) : nil
    }
  }

  /// Waits until its standard error holds a text.
  func errors(hold text: String, seconds: Double = 60) async throws {
    let _: Bool = try await state.wait("\"\(text)\" in the errors", seconds: seconds) {
      $0.errors.contains(text) ? true : nil
    }
  }

  /// Waits until its standard output holds a text.
  func output(holds text: String, seconds: Double = 60) async throws {
    let _: Bool = try await state.wait("\"\(text)\" in the output", seconds: seconds) {
      $0.output.contains(text) ? true : nil
    }
  }
}
