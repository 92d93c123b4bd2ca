import Foundation
import Testing

extension EndToEnd {
  /// What `waystation sink --record` writes down.
  @Suite("The sink's record", .serialized, .ofNoStore)
  struct SinkRecords {
    private let folder: TemporaryFolder
    private var record: String { folder.path + "/requests.ndjson" }

    init() throws { folder = try TemporaryFolder() }

    private func sink(_ options: [String]) async throws -> (sink: ChildProcess, port: UInt16) {
      let sink = try ChildProcess(
        Waystation.path, ["sink", "--listen", "127.0.0.1:0", "--quiet"] + options)
      let line = try await sink.firstLine()
      return (sink, try #require(line.split(separator: ":").last.flatMap { UInt16($0) }, "\(line)"))
    }

    private func lines() throws -> [[String: Any]] {
      try Data(contentsOf: URL(filePath: record)).split(separator: 0x0A).map {
        try #require(try JSONSerialization.jsonObject(with: $0) as? [String: Any])
      }
    }

    @Test("each request is there before it is answered, with all fields and its body, and stays")
    func whole() async throws {
      let body = (0...255).map(UInt8.init)
      for round in 1...2 {
        let (sink, port) = try await sink(["--record", record, "--fail-with", "503"])
        let answer = try await Device("d", port: port).request(
          "PUT", "/readings?round=\(round)", headers: ["X-One": "\"a\" \\ b"], body: body)
        #expect(answer.status == 503)
        #expect(try lines().count == round)
        sink.signal(SIGKILL)
        _ = try await sink.ending()
      }
      let first = try #require(try lines().first)
      #expect(first["method"] as? String == "PUT")
      #expect(first["path"] as? String == "/readings?round=1")
      #expect((first["headers"] as? [String: Any])?["X-One"] as? String == "\"a\" \\ b")
      let text = try #require(first["bodyBase64"] as? String)
      #expect(Data(base64Encoded: text) == Data(body))
    }

    @Test("a field that came twice has both values, and a request without a body has none")
    func twice() async throws {
      let (sink, port) = try await sink(["--record", record])
      defer { sink.signal(SIGTERM) }
      let answer = try await onThread {
        let connection = try Connection(port: port)
        try connection.write(
          Array("GET / HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nx-two: 2\r\n\r\n".utf8))
        return try connection.readResponse(to: "GET")
      }
      #expect(answer.status == 200)
      let line = try #require(try lines().first)
      #expect((line["headers"] as? [String: Any])?["X-Two"] as? [String] == ["1", "2"])
      #expect(line["bodyBase64"] == nil)
    }

    @Test("what cannot be written down is refused, leaves nothing behind, and may come again")
    func full() async throws {
      // The file may have 8 KiB, as on a full disk.
      let sink = try ChildProcess(
        "bash",
        [
          "-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" sink --listen 127.0.0.1:0 --record \"$1\"",
          Waystation.path, record,
        ])
      defer { sink.signal(SIGTERM) }
      let port = try #require(
        try await sink.firstLine().split(separator: ":").last.flatMap { UInt16($0) })
      let device = Device("d", port: port)
      #expect(try await device.request("POST", "/1", body: Array("x".utf8)).status == 200)
      let large = try await device.request("POST", "/2", body: Array(repeating: 1, count: 20_000))
      #expect(large.status == 503 && large["Retry-After"] == "1")
      try await sink.errors(hold: "not recorded")
      #expect(try await device.request("POST", "/3", body: Array("x".utf8)).status == 200)
      #expect(try lines().map { $0["path"] as? String } == ["/1", "/3"])
    }

    @Test("a file that was removed takes nothing more")
    func removed() async throws {
      let (sink, port) = try await sink(["--record", record])
      defer { sink.signal(SIGTERM) }
      try FileManager.default.removeItem(atPath: record)
      #expect(try await Device("d", port: port).request("POST", "/").status == 503)
    }

    @Test("a file whose last line has no end, and what is no file, are refused at the start")
    func unusable() async throws {
      try folder.write("requests.ndjson", "{\"method\": \"PO")
      let cut = try ChildProcess(Waystation.path, ["sink", "--record", record])
      #expect(try await cut.ending() == .exit(1))
      #expect(cut.errors.contains("has no end"), "\(cut.errors)")
      for (path, words) in [
        (folder.path, "cannot be written"), ("/dev/full", "is no regular file"),
      ] {
        let other = try ChildProcess(Waystation.path, ["sink", "--record", path])
        #expect(try await other.ending() == .exit(1))
        #expect(other.errors.contains(words), "\(other.errors)")
      }
    }

    @Test("an audit holds a lane against the record as it is")
    func audited() async throws {
      let (sink, port) = try await sink(["--record", record])
      defer { sink.signal(SIGTERM) }
      let relay = try Relay(
        upstreams: ["default": ["url": "http://127.0.0.1:\(port)"] as [String: any Sendable]],
        more: [
          "receipts": ["issuer": "https://relay.example"], "lanes": ["*": ["evidence": true]],
        ])
      try await relay.start()
      let device = relay.device("till-1")
      for number in 1...4 {
        let posted = try await device.post([
          "lane": "sales", "sequence": number, "key": "k-\(number)", "path": "/sales?n=\(number)",
          "headers": ["Content-Type": "application/octet-stream"] as [String: any Sendable],
          "bodyBase64": Data([0, 255, UInt8(number), 10]).base64EncodedString(),
        ])
        #expect(posted.status == 202, "\(posted)")
        let path = "/v1/clients/till-1/envelopes/k-\(number)?wait=20"
        let end = try await device.get(path).json()
        #expect(end["state"] as? String == "delivered", "\(end)")
      }
      var options = ["--requests", record]
      for (name, path) in [
        ("receipts", "/v1/clients/till-1/lanes/sales/receipt"),
        ("keys", "/.well-known/waystation/keys"),
        ("ledger", "/v1/clients/till-1/lanes/sales/ledger"),
      ] {
        let answer = try await device.get(path)
        try answer.require(200)
        try folder.write(name, String(decoding: answer.body, as: UTF8.self))
        options += ["--\(name)", "\(folder.path)/\(name)"]
      }
      let audit = try ChildProcess(Waystation.path, ["audit-lane"] + options)
      #expect(try await audit.ending() == .exit(0), "\(audit.output)\(audit.errors)")
      #expect(audit.output.hasPrefix("holds: till-1/sales, numbers 1 to 4"), "\(audit.output)")
    }
  }
}
