import Foundation
import Testing

/// The Makefile and its scripts with the binary that is built already, and ports that are free.
private func tourStand(relayPort: UInt16) throws -> ShellStand {
  let stand = try ShellStand()
  for item in ["Makefile", "scripts"] {
    try FileManager.default.copyItem(
      atPath: ShellDocument.repository + "/" + item, toPath: stand.folder.path + "/" + item)
  }
  stand.replace("127.0.0.1:8080", by: "127.0.0.1:\(relayPort)")
  stand.set("LISTEN", "127.0.0.1:\(relayPort)")
  stand.set("SINK_LISTEN", "127.0.0.1:\(try ReservedPort.kept())")
  stand.set("WAYSTATION_BINARY", Waystation.path)
  return stand
}

extension EndToEnd {
  @Suite("The documents' commands", .serialized)
  struct Documents {
    @Test("the README's tour does what it says")
    func tour() async throws {
      let blocks = try ShellDocument("README.md").blocks.map(\.text)
      try #require(blocks.count == 7, "the tour was changed: change this test with it")
      let port = try ReservedPort.kept()
      let stand = try tourStand(relayPort: port)
      do {
        try await tour(blocks, stand, Device("truck-7", port: port))
      } catch {
        try await stand.close()
        throw error
      }
      try await stand.close()
    }

    private func tour(_ blocks: [String], _ stand: ShellStand, _ device: Device) async throws {
      #expect(blocks[0] == "make run")
      let run = try stand.start(blocks[0])
      try await eventually("a relay that is ready") {
        try? await device.get("/readyz").status == 200 ? true : nil
      }
      #expect(try await stand.run(blocks[1]).hasPrefix("HTTP/1.1 202"))
      try await run.output(holds: "POST /readings/1")

      #expect(blocks[2] == "make stop-sink")
      _ = try await stand.run(blocks[2])
      let three = try await stand.run(blocks[3])
      #expect(three.components(separatedBy: #""result":"accepted""#).count == 4, "\(three)")
      let upstream = try await eventually("an unreachable upstream in the status") {
        let shown = try await stand.run(blocks[4])
        return shown.contains(#""reachable":false"#) ? shown : nil
      }
      #expect(upstream.contains(#""waiting":3"#))

      #expect(blocks[5] == "make sink")
      let sink = try stand.start(blocks[5])
      try await sink.output(holds: "POST /readings/4", seconds: 60)
      let places = (2...4).map { sink.output.range(of: "POST /readings/\($0)")?.lowerBound }
      #expect(places.compactMap { $0 } == places.compactMap { $0 }.sorted())
      #expect(places.allSatisfy { $0 != nil })
      try await eventually("a client of whom four were delivered") {
        let client = try await stand.run(blocks[6])
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
      let blocks = try ShellDocument("docs/protocol.md").blocks.map(\.text)
      let statuses = [
        "202", "202", "202", "200", "201", "202", "202", "200", "200", "200", "200", nil, "200",
        "200",
        "200", "200", "200", "200",
        "200", "200", "200", "200", "200", "200", "200", "200", "200", "200", "200", "200", "202",
        "202", "202",
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
        if status == "201" {
          #expect(process.output.contains("HTTP/1.1 204 No Content\r\nUpload-Offset: 6\r\n"))
          #expect(process.output.contains("HTTP/1.1 202 Accepted\r\n"), "\(process.output)")
        }
        // An attempt that a call set off comes to its end before the next one.
        if !id.isEmpty,
          try await device.get("/v1/envelopes/\(id)").json()["state"] as? String != "held"
        {
          _ = try await device.end(of: id)
        }
      }
      let forgotten = try await device.get("/v1/envelopes/\(id)").json()
      #expect(forgotten["state"] as? String == "cancelled")
      #expect(forgotten["attemptCount"] as? Int == 4)
    }
  }
}
