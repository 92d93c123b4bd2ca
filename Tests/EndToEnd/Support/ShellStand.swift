import Foundation
import Glibc

/// A folder in which documents' commands run, with their paths and ports put where a test has its
/// own.
final class ShellStand: Sendable {
  let folder: TemporaryFolder
  private struct State {
    var replacements: [(String, String)] = []
    var environment: [String: String] = [:]
    var running: [ChildProcess] = []
  }
  private let state = Monitor(State())

  init() throws {
    folder = try TemporaryFolder()
    // Ahead of the programs of the same names: what needs another user, or a machine of its own.
    try FileManager.default.createDirectory(
      atPath: folder.path + "/bin", withIntermediateDirectories: true)
  }

  /// Lets a text of the documents stand for another one; what comes first goes first.
  func replace(_ text: String, by other: String) {
    state.change { $0.replacements.append((text, other)) }
  }

  /// Sets a variable for the commands from now on.
  func set(_ name: String, _ value: String) { state.change { $0.environment[name] = value } }

  /// Puts a program into the folder that comes first on the commands' path.
  func install(_ name: String, _ script: String) throws {
    let path = try folder.write("bin/" + name, script)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  /// Starts a block.
  func start(_ block: String) throws -> ChildProcess {
    let (replacements, variables) = state.read { ($0.replacements, $0.environment) }
    let commands = replacements.reduce(block) {
      $0.replacingOccurrences(of: $1.0, with: $1.1)
    }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let own = ["PATH": "\(folder.path)/bin:\(path)", "STAND": folder.path]
    let process = try ChildProcess(
      "/bin/sh", ["-ec", "cd '\(folder.path)'\n" + commands],
      environment: own.merging(variables) { _, given in given }, leadsGroup: true)
    state.change { $0.running.append(process) }
    return process
  }

  /// Runs a block to its end, and returns what it printed.
  ///
  /// - Parameter code: The exit code that it has to end with.
  @discardableResult
  func run(_ block: String, code: Int32 = 0) async throws -> String {
    let process = try start(block)
    let ending = try await process.ending()
    guard ending == .exit(code) else {
      throw ProtocolViolation(
        description: "\(ending) of: \(block)\n\(process.output)\n\(process.errors)")
    }
    return process.output
  }

  /// Ends what still runs, the last first, as Ctrl-C in each terminal would.
  func close() async throws {
    for process in state.read(\.running).reversed() {
      process.signal(SIGINT)
      try await process.ending()
    }
  }
}
