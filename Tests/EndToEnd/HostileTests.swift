import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("In a hostile world", .serialized, .ofNoStore)
  struct Hostile {
    /// What the relay may have in memory at the most while the table is tried, in MiB.
    ///
    /// Its budget for requests of 32 MiB, twice over for what is made of a body, and what a program
    /// takes in its debug build.
    static let residentMiBMax = 160

    @Test("the table has 150 rows and more, each with a name of its own")
    func size() {
      let names = HostileTable.kinds.flatMap(\.rows).map(\.name)
      #expect(names.count >= 150)
      let twice = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys
      #expect(twice.isEmpty, "\(twice)")
    }

    @Test(
      "every hostile request gets its documented answer, and harms nobody",
      arguments: HostileTable.kinds.map(\.name))
    func table(kind: String) async throws {
      let rows = try #require(HostileTable.kinds.first { $0.name == kind }).rows
      let upstream = try TestUpstream()
      let relay = try await Self.relay(upstream)
      let neighbour = try Neighbour(relay)
      let faults = try await Self.faults(of: rows, relay.port)
      let served = try await neighbour.end()

      for fault in faults { Issue.record("\(fault)") }
      #expect(served.faults.isEmpty, "the client beside it: \(served.faults)")
      #expect(served.count > 0)
      try await expectNothingHalfTaken(
        relay, upstream, taken: rows.reduce(0) { $0 + $1.taken }, beside: served.count)
      let resident = try ProcessMemory.peakMiB(of: relay.processNumber)
      print("\(kind): \(rows.count) rows, \(served.count) requests beside them, \(resident) MiB")
      ProcessMemory.expect(resident, atMost: Self.residentMiBMax, "MiB")
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
    }

    @Test("100,000 pipelined requests whose answers nobody reads fill no memory, and are answered")
    func pipelined() async throws {
      let count = 100_000
      let upstream = try TestUpstream()
      let relay = try await Self.relay(upstream)
      let request = Wire.request("GET /healthz")
      let all = (0..<count).flatMap { _ in request }
      let port = relay.port
      let connection = try Connection(port: port)
      let first = try await onThread {
        try connection.write(request)
        let head = try connection.read(through: "\r\n\r\n") ?? []
        let text = String(decoding: head, as: UTF8.self)
        let length = text.split(separator: "\r\n").compactMap { line in
          line.hasPrefix("Content-Length: ") ? Int(line.dropFirst(16)) : nil
        }.first
        _ = try connection.read(count: length ?? 0)
        return head.count + (length ?? 0)
      }
      // As much as goes out while nothing is read: the relay stops reading once it cannot write,
      // and the kernel keeps some in its own buffers.
      let sent = try await onThread {
        var sent = 0
        var stalls = 0
        while sent < all.count, stalls < 10 {
          let some = try connection.writeSome(all[sent...].prefix(1 << 16))
          sent += some
          stalls = some == 0 ? stalls + 1 : 0
          if some == 0 { connection.awaitRoom(withinMs: 50) }
        }
        return sent
      }
      #expect(try await relay.device().post(["path": "/beside"]).status == 202)
      try ProcessMemory.expect(
        ProcessMemory.peakMiB(of: relay.processNumber), atMost: Self.residentMiBMax, "MiB")

      let rest = Array(all[sent...])
      async let written: Void = onThread { try connection.write(rest) }
      // Each answer has as many bytes as the first; a request of another kind shows that these were
      // all of them.
      async let answered = onThread {
        try connection.skip(count: count * first)
        try connection.write(Wire.request("GET /nowhere"))
        return try connection.readResponse(to: "GET").status
      }
      try await written
      #expect(try await answered == 404)
      try ProcessMemory.expect(
        ProcessMemory.peakMiB(of: relay.processNumber), atMost: Self.residentMiBMax, "MiB")
    }

    /// A relay whose limits can be reached soon.
    static func relay(_ upstream: TestUpstream) async throws -> Relay {
      try await Relay.started(
        upstream,
        more: [
          "limits": [
            "bodyBytesMax": 1 << 20, "batchBytesMax": 4 << 20, "memoryInFlightBytesMax": 32 << 20,
            "headTimeoutMs": 1500, "bodyTimeoutMs": 1500, "idleTimeoutMs": 3000,
            "connectionsMax": 200,
          ] as [String: any Sendable]
        ])
    }

    /// Carries out the rows, a few at a time, and names those that went wrong.
    private static func faults(of rows: [HostileRow], _ port: UInt16) async throws -> [String] {
      let runner = HostileRunner(port: port)
      return try await withThrowingTaskGroup(of: String?.self) { group in
        var faults: [String] = []
        for (index, row) in rows.enumerated() {
          if index >= 16, let fault = try await group.next() ?? nil { faults.append(fault) }
          group.addTask {
            try await onThread { runner.fault(of: row).map { "\(row.name): \($0)" } }
          }
        }
        for try await fault in group { if let fault { faults.append(fault) } }
        return faults
      }
    }

    /// What was refused has left nothing, and no request within a request was carried out.
    private func expectNothingHalfTaken(
      _ relay: Relay, _ upstream: TestUpstream, taken: Int, beside: Int
    ) async throws {
      let device = relay.device("onlooker")
      let status = try await device.get("/status").json()
      let store = try #require(status["store"] as? [String: Any])
      let counts = try #require(store["envelopes"] as? [String: Int])
      #expect(counts.values.reduce(0, +) == taken + beside, "\(counts)")
      for client in ["thief", "half"] {
        #expect(try await device.get("/v1/clients/\(client)").status == 404)
      }
      let targets = Set(upstream.received.map { $0.target.prefix { $0 != "?" } })
      #expect(targets.isSubset(of: ["/taken", "/beside"]), "\(targets)")
      guard StoreEngine.hasFiles else { return }
      let bodies = relay.folder.path + "/data/bodies"
      try await eventually("end of what goes through files") {
        let left = try FileManager.default.contentsOfDirectory(atPath: bodies)
        let stored = counts.values.reduce(0, +)
        return left.count <= stored ? true : nil
      }
    }
  }
}
