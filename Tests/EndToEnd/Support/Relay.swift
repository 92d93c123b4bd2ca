import Foundation
import Glibc

/// The built `waystation`.
enum Waystation {
  /// Beside the test program, where SwiftPM puts both; or what `WAYSTATION_BINARY` names.
  static let path: String = {
    if let path = ProcessInfo.processInfo.environment["WAYSTATION_BINARY"] { return path }
    let test = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (test as NSString).deletingLastPathComponent + "/waystation"
  }()

  /// Runs a command to its end.
  static func run(
    _ arguments: String..., environment: [String: String] = [:]
  ) async throws -> (ending: Ending, output: String, errors: String) {
    let process = try ChildProcess(path, arguments, environment: environment)
    let ending = try await process.ending()
    return (ending, process.output, process.errors)
  }
}

/// The relay could not be started.
struct StartFailure: Error, CustomStringConvertible {
  let description: String
}

/// One relay on one data folder, which a test starts, kills and starts again.
final class Relay: Sendable {
  private struct State {
    var process: ChildProcess?
    /// Where it listens.
    var port: UInt16
    /// Where it listens, as it has said: one for each listener.
    var addresses: [String] = []
    var environment: [String: String] = [:]
  }

  let folder: TemporaryFolder
  private let configPath: String
  private let arguments: [String]
  /// How many listeners its configuration names; nil where it listens as the tests commonly do.
  private let listenerCount: Int?
  private let environment: [String: String]
  private let wrapper: [String]
  private let reservedPort: ReservedPort
  private let state: Monitor<State>

  /// Prepares a relay; see ``start()``.
  ///
  /// - Parameters:
  ///   - upstreams: What stands under `upstreams`, by name.
  ///   - more: Other members of the configuration.
  ///   - listen: Its listeners; nil for a port of its own on the loopback address.
  ///   - environment: Variables besides `PATH`.
  ///   - wrapper: A program, with its first arguments, that runs the one that it is given.
  init(
    upstreams: [String: [String: any Sendable]], more: [String: any Sendable] = [:],
    listen: [any Sendable]? = nil, arguments: [String] = [], environment: [String: String] = [:],
    wrapper: [String] = []
  ) throws {
    folder = try TemporaryFolder()
    reservedPort = try ReservedPort()
    state = Monitor(State(port: reservedPort.number))
    listenerCount = listen?.count
    var more = more
    if let listen { more["listen"] = listen }
    configPath = folder.path + "/config.json"
    self.arguments = arguments
    self.environment = try StoreEngine.tried.variables().merging(environment) { _, given in given }
    self.wrapper = wrapper
    try configure(upstreams: upstreams, more: more)
  }

  /// Writes another configuration, for the next start.
  func configure(
    upstreams: [String: [String: any Sendable]], more: [String: any Sendable] = [:]
  ) throws {
    var config: [String: any Sendable] = ["upstreams": upstreams]
    // A database that the configuration names takes its place.
    if more["store"] == nil { config["data"] = data }
    config.merge(more) { _, given in given }
    try folder.write("config.json", String(decoding: Device.json(config), as: UTF8.self))
  }

  /// Sets variables of the processes that are started from now on.
  func setEnvironment(_ variables: [String: String]) {
    state.change { $0.environment = variables }
  }

  /// A relay with one upstream whose retries are quick, started.
  static func started(
    _ upstream: TestUpstream, upstreamMore: [String: any Sendable] = [:],
    more: [String: any Sendable] = [:]
  ) async throws -> Relay {
    let relay = try Relay(upstreams: ["default": quick(upstream, upstreamMore)], more: more)
    try await relay.start()
    return relay
  }

  /// An upstream's configuration with retries that a test can wait for.
  static func quick(
    _ upstream: TestUpstream, _ more: [String: any Sendable] = [:]
  ) -> [String: any Sendable] {
    let retry: [String: any Sendable] = ["firstDelayMs": 20, "maxDelayMs": 200, "factor": 2]
    return ["url": upstream.url, "retry": retry].merging(more) { _, given in given }
  }

  /// Waits between attempts that outlast every test: each is drawn from nothing up to a day.
  static let patient: [String: any Sendable] = [
    "retry": ["firstDelayMs": 86_400_000, "maxDelayMs": 86_400_000] as [String: any Sendable]
  ]

  /// Where it listens.
  var port: UInt16 { state.read(\.port) }

  /// What the hosts are called that devices name: by itself no relay without credentials knows
  /// them.
  private static let hosts = ["WAYSTATION_HOSTS": "relay,r,a"]

  private var variables: [String: String] {
    Self.hosts.merging(environment) { _, given in given }
      .merging(state.read(\.environment)) { _, given in given }
  }

  /// Starts it, and waits until it listens.
  func start() async throws {
    if let listenerCount { return try await start(listenerCount) }
    try begin()
    try await listens()
  }

  /// Starts it.
  func begin() throws {
    let listen = "127.0.0.1:\(port)"
    let command =
      wrapper + [Waystation.path, "serve", "--config", configPath, "--listen", listen] + arguments
    let process = try ChildProcess(
      command[0], Array(command.dropFirst()),
      environment: variables)
    state.change { $0.process = process }
  }

  /// Waits until it listens.
  func listens() async throws {
    let line = try await process?.firstLine() ?? ""
    let prefix = "listening on http://127.0.0.1:"
    guard line.hasPrefix(prefix), let port = UInt16(line.dropFirst(prefix.count)) else {
      throw StartFailure(description: "first line \"\(line)\"; errors: \(process?.errors ?? "")")
    }
    state.change { $0.port = port }
  }

  /// Starts it where its configuration says, and waits until it has named each listener.
  private func start(_ listenerCount: Int) async throws {
    let process = try ChildProcess(
      Waystation.path, ["serve", "--config", configPath] + arguments,
      environment: variables)
    let prefix = "listening on "
    let lines = try await process.outputLines(count: listenerCount)
    guard lines.count == listenerCount, lines.allSatisfy({ $0.hasPrefix(prefix) }) else {
      throw StartFailure(description: "lines \(lines); errors: \(process.errors)")
    }
    state.change { state in
      state.process = process
      state.addresses = lines.map { String($0.dropFirst(prefix.count)) }
    }
  }

  /// The port of a listener, by its place in the configuration.
  func port(of listener: Int) -> UInt16 {
    let address = state.read { $0.addresses[listener] }
    return address.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
  }

  /// Waits until its log holds a text.
  func log(holds text: String) async throws {
    try await process?.errors(hold: text)
  }

  private var process: ChildProcess? { state.read(\.process) }

  /// Sends a signal.
  func signal(_ signal: Int32) { process?.signal(signal) }

  /// Waits for its end.
  @discardableResult
  func ending(seconds: Double = 40) async throws -> Ending? {
    try await process?.ending(seconds: seconds)
  }

  /// Kills it as a power cut would, and waits until it is gone.
  func kill() async throws {
    signal(SIGKILL)
    try await ending()
  }

  /// Waits until it listens, for devices that were cut off; false once the time is up.
  func isUp(seconds: Double = 20) async throws -> Bool {
    try await onThread { [self] in
      state.block(seconds: seconds) { state in
        (try? Connection(port: state.port)) != nil ? true : nil
      } ?? false
    }
  }

  /// Its data folder.
  var data: String { folder.path + "/data" }

  /// The running process's number; 0 before the first start.
  var processNumber: pid_t { process?.number ?? 0 }

  /// How many descriptors the running process has open.
  func descriptorCount() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processNumber)/fd").count
  }

  /// What it has written to its log.
  var log: String { (process?.errors ?? "") + (process?.output ?? "") }

  /// A device that talks to it.
  func device(_ name: String = "device-1", token: String? = nil) -> Device {
    Device(name, port: port, token: token)
  }
}
