import Foundation
import Testing

/// A language in which `examples/` has a client.
enum ExampleLanguage: String, CaseIterable, Sendable {
  case python
  case c
  case shell

  /// The command that runs the client.
  func command() async throws -> [String] {
    let examples = ShellDocument.repository + "/examples"
    switch self {
    case .python: return ["python3", examples + "/outbox.py"]
    case .c: return [try await Self.compiled.value.path + "/outbox"]
    case .shell: return ["/bin/sh", examples + "/outbox.sh"]
    }
  }

  /// The folder with the client in C, compiled once.
  private static let compiled = Task {
    let folder = try TemporaryFolder()
    let source = ShellDocument.repository + "/examples/outbox.c"
    let compiler = try ChildProcess(
      "cc",
      ["-O2", "-Wall", "-Wextra", "-Werror", "-o", folder.path + "/outbox", source, "-lcurl"],
      environment: ["TMPDIR": folder.path])
    let ending = try await compiler.ending(seconds: 120)
    guard ending == .exit(0) else { throw StartFailure(description: compiler.errors) }
    return folder
  }
}

/// A client of `examples/` with an outbox of its own.
struct ExampleClient: Sendable {
  private let command: [String]
  private let folder: TemporaryFolder
  private let environment: [String: String]

  /// A client that talks to whoever listens on a port.
  init(_ language: ExampleLanguage, port: UInt16, token: String? = nil) async throws {
    folder = try TemporaryFolder()
    command = try await language.command()
    environment = [
      "WAYSTATION_SERVER": "http://127.0.0.1:\(port)", "WAYSTATION_CLIENT": "device-1",
      "WAYSTATION_OUTBOX": folder.path + "/outbox", "WAYSTATION_TOKEN": token ?? "",
    ]
  }

  /// Starts it in a process group of its own, so that a signal reaches whatever it has started.
  func start(_ arguments: String...) throws -> ChildProcess {
    try ChildProcess(
      command[0], command.dropFirst() + arguments, environment: environment, leadsGroup: true)
  }

  /// Keeps an envelope, and returns its key once the client has said that it is on disk.
  func add(_ path: String, body: String = "{}") async throws -> String {
    let script = #"body=$1; shift; printf %s "$body" | "$@""#
    let arguments = command + ["add", "POST", path, "application/json"]
    let process = try ChildProcess(
      "/bin/sh", ["-c", script, "sh", body] + arguments, environment: environment)
    let ending = try await process.ending()
    try #require(ending == .exit(0), "\(process.errors)")
    let words = process.output.split(whereSeparator: \.isWhitespace)
    try #require(words.count == 2 && words[0] == "kept", "\(process.output)")
    return String(words[1])
  }

  /// Keeps several, one after the other, and returns their keys.
  func add(all paths: [String]) async throws -> [String] {
    var keys: [String] = []
    for path in paths { keys.append(try await add(path)) }
    return keys
  }

  /// Mends a refused envelope by giving it another path, as the head of the client's file says.
  func mend(_ key: String, path: String, to other: String) async throws {
    guard command[0] != "python3" else {
      let shown = try start("show", key)
      try #require(try await shown.ending() == .exit(0), "\(shown.errors)")
      _ = try await add(other, body: shown.output)
      let dropped = try start("drop", key)
      return try #require(try await dropped.ending() == .exit(0), "\(dropped.errors)")
    }
    let outbox = folder.path + "/outbox"
    let names = try FileManager.default.contentsOfDirectory(atPath: outbox + "/refused")
    let name = try #require(names.first { $0.hasSuffix("\(key).json") })
    let line = try String(contentsOfFile: "\(outbox)/refused/\(name)", encoding: .utf8)
    let mended = line.replacing("\"path\":\"\(path)\"", with: "\"path\":\"\(other)\"")
    try mended.write(toFile: "\(outbox)/refused/\(name)", atomically: true, encoding: .utf8)
    try FileManager.default.moveItem(
      atPath: "\(outbox)/refused/\(name)", toPath: "\(outbox)/waiting/\(name)")
  }

  /// The words of each line that it lists: waiting or refused, the key, and more.
  func list() async throws -> [[String]] {
    let process = try start("list")
    let ending = try await process.ending()
    try #require(ending == .exit(0), "\(process.errors)")
    return process.output.split(separator: "\n").map {
      $0.split(separator: " ").map(String.init)
    }
  }
}

extension ChildProcess {
  /// The keys of which its output says this.
  func keys(_ word: String) -> [String] {
    output.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      return words.count > 1 && words[0] == word ? words[1] : nil
    }
  }
}

extension Behaviour {
  /// What a relay answers to a request, to be passed on.
  ///
  /// - Parameter part: What the relay gets of the body before the link is cut; nil for all of it.
  static func passed(_ request: WireRequest, to port: UInt16, part: Int? = nil) -> Behaviour {
    let own: Set = ["host", "connection", "content-length", "transfer-encoding"]
    var head = "\(request.method) \(request.target) HTTP/1.1\r\nHost: relay\r\n"
    head += "Connection: close\r\nContent-Length: \(request.body.count)\r\n"
    for field in request.message.fields where !own.contains(field.name.lowercased()) {
      head += "\(field.name): \(field.value)\r\n"
    }
    guard let connection = try? Connection(port: port),
      (try? connection.write(Array((head + "\r\n").utf8) + request.body.prefix(part ?? .max)))
        != nil
    else { return .cut }
    guard part == nil else {
      connection.endOutput()
      // It ends once the relay has seen the end.
      _ = try? connection.readToEnd()
      connection.close()
      return .cut
    }
    guard let response = try? connection.readResponse(to: request.method)
    else { return .cut }
    let fields = response.message.fields.filter { !own.contains($0.name.lowercased()) }
    return .answer(response.status, fields: fields, body: response.body)
  }

  /// A problem of the relay's own kind.
  static func problem(_ status: Int, _ kind: String) -> Behaviour {
    let body = #"{"type":"urn:waystation:problem:\#(kind)","title":"No","status":\#(status)}"#
    let field = WireField(name: "Content-Type", value: "application/problem+json")
    return .answer(status, fields: [field], body: Array(body.utf8))
  }
}
