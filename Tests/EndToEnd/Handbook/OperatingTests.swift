import Foundation
import Glibc
import Testing

extension EndToEnd {
  /// What docs/operating.md says that one does day by day.
  @Suite("The handbook", .serialized)
  struct Operating {
    @Test("a relay is installed, looked at, and given tokens")
    func installing() async throws {
      let book = try await Handbook.installed()
      let status = try await book.stand.run(book.blocks("The first start", count: 2)[1])
      try await book.upstream.received(count: 1)
      #expect(book.upstream.received.map(\.target) == ["/hello"])
      #expect(status.contains("1 upstream reachable"), "\(status)")
      let size = try await book.stand.run(book.blocks("Size")[0])
      #expect(size.contains("room for") && size.contains("Filesystem"), "\(size)")

      let made = try await book.stand.run("waystation token create --client till-1")
      let token = made.trimmingCharacters(in: .whitespacesAndNewlines)
      book.stand.set("ID", String(token.dropFirst(4).prefix(16)))
      let tokens = try book.blocks("Who may use it", count: 3)
      let listed = try await book.stand.run(tokens[0])
      #expect(listed.contains("spare unit") && listed.contains("till-1"), "\(listed)")
      let device = Device("till-1", port: book.port, token: token)
      #expect(try await device.get("/v1/envelopes").status == 401)
      let renewable = try await book.stand.run(tokens[1])
        .trimmingCharacters(in: .whitespacesAndNewlines)
      let renewed = try await Device("truck-8", port: book.port, token: renewable)
        .request("POST", "/v1/token/renew")
      #expect(renewed.status == 200, "\(renewed)")
      #expect(try await book.stand.run(tokens[2]).hasPrefix("wsk_fleet-1.747275636b2d37."))
    }

    @Test("certificates are made, shown by a device, and renewed while the relay runs")
    func certificates() async throws {
      let book = try await Handbook.installed()
      let port = try ReservedPort.kept()
      book.stand.replace("localhost:8443", by: "localhost:\(port)")
      book.stand.replace("127.0.0.1:8443", by: "127.0.0.1:\(port)")
      let blocks = try book.blocks("TLS", of: "configuration", count: 3)
      try await book.stand.run(blocks[0])
      try await book.stand.run(blocks[1])
      let own = book.stand.folder.path
      let file = own + "/etc/waystation/config.json"
      let listener = """
        "listen": ["127.0.0.1:\(book.port)", {"address": "127.0.0.1:\(port)", "tls": {
          "certificate": "\(own)/certificate.pem", "key": "\(own)/key.pem",
          "clientCertificates": {"authorities": "\(own)/authority.pem", "required": false}}}]
        """
      let configuration = try String(contentsOfFile: file, encoding: .utf8)
        .replacingOccurrences(of: "\"listen\": \"127.0.0.1:\(book.port)\"", with: listener)
      try configuration.write(toFile: file, atomically: true, encoding: .utf8)
      try await book.stand.run("sudo systemctl restart waystation")
      #expect(try await book.stand.run(blocks[2]).contains("ok"))

      let renew = try book.blocks("Renew a certificate")[0]
      let before = try await book.stand.run(renew)
      try await book.stand.run(blocks[0].replacingOccurrences(of: "-days 30", with: "-days 60"))
      try await eventually("a new certificate") {
        let after = try await book.stand.run(renew)
        return after.contains("notAfter=") && after != before ? true : nil
      }
    }

    @Test("what there is to watch is answered, and every command of the alerts' pages too")
    func watching() async throws {
      let book = try await Handbook.installed()
      let id = try await book.send("/a")
      try await book.envelope(id, is: "delivered")
      let watched = try await book.stand.run(book.blocks("Watch")[0])
      #expect(watched.contains("waystation_ended_envelopes_total"), "\(watched)")
      #expect(try await book.stand.run(book.blocks("Metrics")[0]).contains("tokenSHA256"))
      let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
      book.stand.set(
        "ID",
        try await book.send("/b", "--header 'traceparent: 00-\(trace)-00f067aa0ba902b7-01'"))
      #expect(try await book.stand.run(book.blocks("Traces")[0]).contains(trace))
      let alerts = try ShellDocument("docs/alerts.md")
      let ask = try #require(alerts.blocks.first?.text)
      book.stand.set("WAYSTATION_SERVER", "http://127.0.0.1:\(book.port)")
      let commands = alerts.commands(beginning: "ask ")
      try #require(commands.count > 8)
      for command in commands {
        // One of them listens for as long as it is let.
        let real = command.replacingOccurrences(of: "NAME", with: "default")
          .replacingOccurrences(of: "/ID", with: "/" + id)
          .replacingOccurrences(of: "ask ", with: "ask --fail --max-time 1 ")
        let code: Int32 = command.contains("--no-buffer") ? 28 : 0
        let said = try await book.stand.run(
          "\(ask)\n\(real)", code: code)
        #expect(!said.isEmpty, "\(command)")
      }
    }

    @Test("an envelope and refused requests are found in the log, once it has them")
    func logging() async throws {
      let book = try await Handbook.installed()
      let file = book.stand.folder.path + "/etc/waystation/config.json"
      let told = try String(contentsOfFile: file, encoding: .utf8).replacingOccurrences(
        of: #""upstreams""#, with: #""log": {"level": "debug", "access": true}, "upstreams""#)
      try told.write(toFile: file, atomically: true, encoding: .utf8)
      try await book.stand.run("sudo systemctl reload waystation")
      try await eventually("another configuration") {
        try await book.stand.run("journalctl").contains("configuration reloaded") ? true : nil
      }
      let id = try await book.send("/a")
      try await book.envelope(id, is: "delivered")
      book.stand.set("ID", id)
      try await eventually("its story in the log") {
        let story = try await book.stand.run(book.blocks("The log")[0] + " || true")
        let isWhole = ["was accepted", "is attempted", "was delivered", #""event":"request""#]
          .allSatisfy(story.contains)
        return isWhole ? true : nil
      }
      #expect(try await Device("x", port: book.port).get("/v1/envelopes").status == 401)
      try await eventually("who was refused") {
        let refused = try await book.stand.run(book.blocks("The access log")[0] + " || true")
        return refused.contains("/v1/envelopes") ? true : nil
      }
    }

    @Test("upstreams, lanes, dead letters and clients are steered from the terminal")
    func steering() async throws {
      let book = try await Handbook.installed(
        upstreamMore: """
          , "onFailure": "block", "reachability": {"failuresBeforeUnreachable": 1,
          "firstProbeDelayMs": 60000}
          """)
      let blocks = try book.blocks("What to do when", count: 7)
      #expect(try await book.stand.run(blocks[0]).contains("paused"))
      let audit = try await book.stand.run(book.blocks("Who did what")[0])
      #expect(audit.contains(#""action":"pause""#) && audit.contains(#""who":"ops""#), "\(audit)")
      try await probed(book, blocks[1])
      try await settled(book, looking: blocks[2], mending: blocks[3])
      let dead = [
        try await book.send("/refused/1", "--tag t"), try await book.send("/refused/2"),
      ]
      try await requeued(book, dead, blocks[4])
      #expect(try await book.stand.run(blocks[5]).contains("truck-7"))
      book.stand.set("ID", dead[0])
      let story = try await book.stand.run(blocks[6])
      #expect(story.contains("/refused/1") && story.contains("delivered"), "\(story)")
    }

    private func probed(_ book: Handbook, _ block: String) async throws {
      book.upstream.stop()
      let id = try await book.send("/away")
      try await eventually("an unreachable upstream") {
        try await book.stand.run("waystation status").contains("unreachable") ? true : nil
      }
      try book.upstream.start()
      try await book.stand.run(block)
      try await book.envelope(id, is: "delivered")
    }

    /// One blocks its lane, another one waits behind it.
    private func settled(_ book: Handbook, looking: String, mending: String) async throws {
      book.upstream.behave { .answer($0.target == "/readings/2" ? 200 : 422) }
      let id = try await book.send("/readings/1")
      try await book.envelope(id, is: "blocked")
      book.stand.set("ID", id)
      let seen = try await book.stand.run(looking)
      #expect(seen.contains("truck-7") && seen.contains("422"), "\(seen)")
      try await book.stand.run(mending)
      try await book.envelope(id, is: "delivered")
    }

    /// Refused ones are given up one after the other; then what they were refused for is mended.
    private func requeued(_ book: Handbook, _ ids: [String], _ block: String) async throws {
      for id in ids {
        try await book.envelope(id, is: "blocked")
        try await book.stand.run("waystation envelopes discard \(id)")
      }
      book.upstream.behave { _ in .answer(200) }
      let blocks = try book.blocks("Many at once", count: 2)
      let many = try await book.stand.run(blocks[0])
      #expect(many.contains(#""matched":\#(ids.count)"#), "\(many)")
      let said = try await book.stand.run(block)
      #expect(ids.allSatisfy { said.contains($0) }, "\(said)")
      for id in ids { try await book.envelope(id, is: "delivered") }
      let others = try await book.stand.run(blocks[1])
      #expect(others == "no envelopes match\n")
      let replayed = try await book.stand.run(
        book.blocks("Sending once more what was delivered")[0])
      #expect(replayed.contains("is done: replay, "), "\(replayed)")
    }

    @Test("every block of the handbook that can be run stands where a test runs it")
    func everyBlock() throws {
      let headings = try ShellDocument("docs/operating.md").blocks.map(\.heading)
      #expect(
        headings == [
          "The first start", "The first start", "Size", "Who may use it", "Who may use it",
          "Who may use it", "Renew a certificate", "Watch", "The log", "The access log", "Metrics",
          "Traces",
        ] + Array(repeating: "What to do when", count: 7) + [
          "Many at once", "Many at once", "Sending once more what was delivered", "Who did what",
          "Upgrade", "Back up and restore", "Back up and restore", "Move to another machine",
          "Move to another machine", "Clocks",
        ] + Array(repeating: "When the store is damaged", count: 4) + ["When the disk is full"])
    }
  }
}
