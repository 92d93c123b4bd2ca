import Foundation
import SQLite
import Testing

extension EndToEnd {
  /// An evidence lane from its posts to its audit: of a relay that is honest, and of one whose
  /// store somebody has changed behind its back.
  @Suite("The audit of a relay that lies", .serialized, .ofFiles)
  struct LyingStore {
    /// What somebody has changed, and what the audit has to say.
    struct Lie: Sendable, CustomTestStringConvertible {
      var testDescription: String
      var sql: String
      var number: Int
      var reason: String
    }

    private static let serial = "(SELECT serial FROM envelope WHERE sequence = "

    private static let lies = [
      Lie(
        testDescription: "a body is another one",
        sql: "UPDATE envelope SET body = x'6c6965', checksum = NULL WHERE sequence = 3",
        number: 3, reason: "another-request-at-upstream"),
      Lie(
        testDescription: "two envelopes change places",
        sql: """
          UPDATE envelope SET checksum = NULL, (target, body) = (SELECT o.target, o.body \
          FROM envelope AS o WHERE o.sequence = 5 - envelope.sequence) WHERE sequence IN (2, 3)
          """, number: 2, reason: "another-request-at-upstream"),
      Lie(
        testDescription: "one is called delivered, and was never sent",
        sql: """
          INSERT INTO ended (serial, state, ended_at, attempts, in_doubt) \
          VALUES (\(serial)4), 1, strftime('%s') * 1000, 1, 0);
          DELETE FROM line WHERE serial = \(serial)4)
          """, number: 4, reason: "not-at-upstream"),
      Lie(
        testDescription: "one is left out of the ledger",
        sql: "DELETE FROM lane_ledger WHERE sequence = 2", number: 2,
        reason: "left-out-of-ledger"),
      Lie(
        testDescription: "another digest stands in the ledger",
        sql: "UPDATE lane_ledger SET digest = zeroblob(32) WHERE sequence = 5", number: 5,
        reason: "changed-in-ledger"),
    ]

    private let upstream: TestUpstream
    private let relay: Relay
    private let folder: TemporaryFolder
    private static let count = 6

    init() throws {
      upstream = try TestUpstream()
      folder = try TemporaryFolder()
      relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        more: [
          "receipts": ["issuer": "https://relay.example"], "lanes": ["sales": ["evidence": true]],
        ])
    }

    /// Posts sales that are held.
    private func post() async throws {
      for number in 1...Self.count {
        let answer = try await relay.device("till-1").post([
          "lane": "sales", "sequence": number, "key": "k-\(number)", "path": "/sales?n=\(number)",
          "body": "sale \(number)", "hold": true,
        ])
        #expect(answer.status == 202, "\(answer)")
      }
    }

    /// Lets the sales go that wait, and waits until the upstream has them.
    private func deliver() async throws {
      let device = relay.device("till-1")
      for number in 1...Self.count {
        _ = try await device.request("POST", "/v1/clients/till-1/envelopes/k-\(number)/run")
        let end = try await device.get("/v1/clients/till-1/envelopes/k-\(number)?wait=20").json()
        #expect(end["state"] as? String == "delivered", "\(end)")
      }
    }

    /// Audits what the relay and the upstream say, by the command and by the example.
    private func verdicts() async throws -> [[String: Any]] {
      let device = relay.device("till-1")
      for (file, path) in [
        ("receipts", "/v1/clients/till-1/lanes/sales/receipt"),
        ("keys", "/.well-known/waystation/keys"),
        ("ledger", "/v1/clients/till-1/lanes/sales/ledger"),
      ] {
        let answer = try await device.get(path)
        try answer.require(200)
        try folder.write(file, String(decoding: answer.body, as: UTF8.self))
      }
      let names = [
        "Content-Type", "Idempotency-Key", "Waystation-Client", "Waystation-Key",
        "Waystation-Lane", "Waystation-Sequence", "Waystation-Item-Digest",
      ]
      let lines = try await upstream.received(count: 1).map { request in
        let fields = names.compactMap { name in request[name].map { (name, $0) } }
        return String(
          decoding: try Device.json([
            "method": request.method, "path": request.target,
            "headers": Dictionary(uniqueKeysWithValues: fields),
            "bodyBase64": Data(request.body).base64EncodedString(),
          ]), as: UTF8.self)
      }
      try folder.write("requests", lines.joined(separator: "\n"))
      let options = ["receipts", "keys", "ledger", "requests"].flatMap {
        ["--\($0)", "\(folder.path)/\($0)"]
      }
      var verdicts: [[String: Any]] = []
      for program in [
        [Waystation.path, "audit-lane"],
        ["python3", ShellDocument.repository + "/examples/audit.py"],
      ] {
        let process = try ChildProcess(program[0], program.dropFirst() + options + ["--json"])
        _ = try await process.ending()
        let said = try? JSONSerialization.jsonObject(with: Data(process.output.utf8))
        verdicts.append(
          try #require(said as? [String: Any], "\(process.output)\(process.errors)"))
      }
      return verdicts
    }

    @Test("an honest relay's lane holds")
    func honest() async throws {
      try await relay.start()
      try await post()
      try await deliver()
      for verdict in try await verdicts() {
        #expect(verdict["holds"] as? Bool == true, "\(verdict)")
        #expect(verdict["delivered"] as? Int == Self.count)
      }
    }

    @Test("it holds also of what another relay has handed on, which adds an Idempotency-Key")
    func handedOn() async throws {
      try await relay.start()
      let first = try Relay(
        upstreams: [
          "default": [
            "url": "http://127.0.0.1:\(relay.port)",
            "batch": ["format": "waystation"] as [String: any Sendable],
          ]
        ],
        more: [
          "receipts": ["issuer": "https://first.example"], "lanes": ["*": ["evidence": true]],
        ])
      try await first.start()
      for number in 1...Self.count {
        let answer = try await first.device("till-1").post([
          "lane": "sales", "sequence": number, "key": "k-\(number)", "path": "/sales",
        ])
        #expect(answer.status == 202, "\(answer)")
      }
      for number in 1...Self.count {
        let path = "/v1/clients/till-1/envelopes/k-\(number)?wait=20"
        let end = try await first.device("till-1").get(path).json()
        #expect(end["state"] as? String == "delivered", "\(end)")
      }
      try await deliver()
      for verdict in try await verdicts() {
        #expect(verdict["holds"] as? Bool == true, "\(verdict)")
      }
    }

    @Test("a lie is told, with the number", arguments: lies)
    func lie(_ lie: Lie) async throws {
      try await relay.start()
      try await post()
      try await relay.kill()
      try SQLite.Connection(
        path: relay.folder.path + "/data/waystation.sqlite3", access: .readWrite
      ).execute(lie.sql)
      try await relay.start()
      try await deliver()
      for verdict in try await verdicts() {
        #expect(verdict["holds"] as? Bool == false, "\(verdict)")
        #expect(verdict["reason"] as? String == lie.reason, "\(verdict)")
        #expect(verdict["first"] as? Int == lie.number, "\(verdict)")
      }
    }
  }
}
