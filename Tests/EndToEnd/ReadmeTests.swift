import Foundation
import Glibc
import Testing

/// The repository, found from this file.
private let repository = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

/// The `sh` blocks of a document, in order.
private func shellBlocks(of document: String) throws -> [String] {
  let text = try String(contentsOfFile: repository + "/" + document, encoding: .utf8)
  var blocks: [String] = []
  var block: [String]?
  for line in text.components(separatedBy: "\n") {
    if line == "```sh" {
      block = []
    } else if line == "```", let whole = block {
      blocks.append(whole.joined(separator: "\n"))
      block = nil
    } else {
      block?.append(line)
    }
  }
  return blocks
}

/// A port that nothing listens on, for a program that cannot be told to take a free one.
private func freePort() throws -> UInt16 {
  let upstream = try TestUpstream()
  upstream.stop()
  return upstream.port
}

/// A place where the documents' commands run: the Makefile and its scripts with the binary that is
/// built already, and ports that are free.
private final class Terminal: Sendable {
  let folder: TemporaryFolder
  let relayPort: UInt16
  private let sinkPort: UInt16
  private let running = Monitor<[ChildProcess]>([])

  init() throws {
    folder = try TemporaryFolder()
    (relayPort, sinkPort) = (try freePort(), try freePort())
    for item in ["Makefile", "scripts"] {
      try FileManager.default.copyItem(
        atPath: repository + "/" + item, toPath: folder.path + "/" + item)
    }
  }

  /// Starts a block as it stands, but for the relay's port.
  func start(_ block: String) throws -> ChildProcess {
    let commands = block.replacingOccurrences(of: "127.0.0.1:8080", with: "127.0.0.1:\(relayPort)")
    let process = try ChildProcess(
      "/bin/sh", ["-ec", "cd '\(folder.path)'\n" + commands],
      environment: [
        "LISTEN": "127.0.0.1:\(relayPort)", "SINK_LISTEN": "127.0.0.1:\(sinkPort)",
        "WAYSTATION_BINARY": Waystation.path,
      ], leadsGroup: true)
    running.change { $0.append(process) }
    return process
  }

  /// Runs a block to its end, and returns what it printed.
  func run(_ block: String) async throws -> String {
    let process = try start(block)
    let ending = try await process.ending()
    guard ending == .exit(0) else {
      throw ProtocolViolation(description: "\(ending) of: \(block)\n\(process.errors)")
    }
    return process.output
  }

  /// Ends what still runs, the last first, as Ctrl-C in each terminal would.
  func close() async throws {
    for process in running.read({ $0 }).reversed() {
      process.signal(SIGINT)
      try await process.ending()
    }
  }
}

extension EndToEnd {
  @Suite("The documents' commands", .serialized)
  struct Documents {
    @Test("the README's tour does what it says")
    func tour() async throws {
      let blocks = try shellBlocks(of: "README.md")
      try #require(blocks.count == 7, "the tour was changed: change this test with it")
      let terminal = try Terminal()
      do {
        try await tour(blocks, terminal)
      } catch {
        try await terminal.close()
        throw error
      }
      try await terminal.close()
    }

    private func tour(_ blocks: [String], _ terminal: Terminal) async throws {
      #expect(blocks[0] == "make run")
      let run = try terminal.start(blocks[0])
      let device = Device("truck-7", port: terminal.relayPort)
      try await eventually("a relay that is ready") {
        try? await device.get("/readyz").status == 200 ? true : nil
      }
      #expect(try await terminal.run(blocks[1]).hasPrefix("HTTP/1.1 202"))
      try await run.output(holds: "POST /readings/1")

      #expect(blocks[2] == "make stop-sink")
      _ = try await terminal.run(blocks[2])
      let three = try await terminal.run(blocks[3])
      #expect(three.components(separatedBy: #""result":"accepted""#).count == 4, "\(three)")
      let upstream = try await eventually("an unreachable upstream in the status") {
        let shown = try await terminal.run(blocks[4])
        return shown.contains(#""reachable":false"#) ? shown : nil
      }
      #expect(upstream.contains(#""waiting":3"#))

      #expect(blocks[5] == "make sink")
      let sink = try terminal.start(blocks[5])
      try await sink.output(holds: "POST /readings/4", seconds: 60)
      let places = (2...4).map { sink.output.range(of: "POST /readings/\($0)")?.lowerBound }
      #expect(places.compactMap { $0 } == places.compactMap { $0 }.sorted())
      #expect(places.allSatisfy { $0 != nil })
      try await eventually("a client of whom four were delivered") {
        let client = try await terminal.run(blocks[6])
        return client.contains(#""waiting":0"#) && client.contains(#""delivered":4"#) ? true : nil
      }
    }

    @Test("the protocol's examples are answered as it says")
    func protocolExamples() async throws {
      let upstream = try TestUpstream {
        $0.target.hasPrefix("/visits") ? .answer(422) : .answer(200)
      }
      let live: [String: any Sendable] = ["order": "latest", "ttlSeconds": 60]
      let relay = try await Relay.started(upstream, more: ["lanes": ["live": live]])
      let device = relay.device("truck-7")
      let blocks = try shellBlocks(of: "docs/protocol.md")
      let statuses = [
        "202", "202", "202", "200", "202", "202", "200", "200", "200", "200", nil, "200", "200",
        "200", "200", "200", "200", "200", "200", "200", "200", "200", "200", "202", "202",
      ]
      try #require(blocks.count == statuses.count)
      var id = ""
      for (block, status) in zip(blocks, statuses) {
        let commands = block.replacingOccurrences(
          of: "127.0.0.1:8080", with: "127.0.0.1:\(relay.port)")
        let process = try ChildProcess("/bin/sh", ["-ec", "ID=\(id)\n\(commands)\necho \"|$ID\""])
        #expect(try await process.ending() == .exit(0))
        id = String(process.output.split(separator: "|").last ?? "").trimmingCharacters(
          in: .newlines)
        guard let status else { continue }
        #expect(process.output.hasPrefix("HTTP/1.1 \(status)"), "\(block)\n\(process.output)")
        // An attempt that a call set off comes to its end before the next one.
        if !id.isEmpty,
          try await device.get("/v1/envelopes/\(id)").json()["state"] as? String != "held"
        {
          _ = try await device.end(of: id)
        }
      }
      let forgotten = try await device.get("/v1/envelopes/\(id)").json()
      #expect(forgotten["state"] as? String == "cancelled")
      #expect(forgotten["attemptCount"] as? Int == 3)
    }
  }
}
