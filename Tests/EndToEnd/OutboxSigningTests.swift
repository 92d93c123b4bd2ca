import Foundation
import Testing
import WaystationOutbox
import WaystationOutboxCurl

extension EndToEnd {
  /// A device that signs, the real relay, and an upstream that trusts the device alone.
  @Suite("What the outbox signs", .serialized, .ofFiles)
  struct OutboxSigning {
    private let stand: OutboxStand

    init() throws {
      stand = try OutboxStand(
        more: [
          "receipts": ["issuer": "https://relay.example"],
          "lanes": ["sales": ["evidence": true]],
        ])
    }

    /// The kinds of keys, as openssl makes them.
    private static let kinds = [
      ["-algorithm", "ed25519"],
      ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    ]

    private func settings(_ kind: [String]) async throws -> Settings {
      let path = stand.folder.path + "/device.pem"
      let openssl = try ChildProcess("openssl", ["genpkey", "-out", path] + kind)
      #expect(try await openssl.ending() == .exit(0))
      let signer = try OpenSSLSigner(reading: path)
      try stand.folder.write("device", #"{"keys": [\#(signer.publicKey)]}"#)
      var settings = stand.settings()
      settings.verifier = OpenSSLReceiptVerifier()
      settings.signer = signer
      settings.sending.uploadBytes = 100_000
      settings.lanes["sales"] = LaneSettings()
      settings.lanes["sales"]?.evidence = true
      return settings
    }

    private static let requests = [
      Request("POST", "/sales?n=1", .json(#"{"cents": 1250}"#)),
      Request("PUT", "/text", .bytes(Array("grüße".utf8), type: "text/plain")),
      Request("POST", "/none"),
      Request("PUT", "/upload", .bytes([UInt8](repeating: 7, count: 150_000), type: "image/jpeg")),
      Request("DELETE", "/last", headers: [("X-Note", "a")]),
    ]

    /// Sends them, with a relay that is killed in between, and what it has not by then goes again.
    private func send(_ settings: Settings, lane: Lane) async throws {
      try await stand.relay.start()
      let outbox = try await Outbox.open(settings)
      var ids: [Item.ID] = []
      for (number, request) in Self.requests.enumerated() {
        if number == 2 {
          try await stand.relay.kill()
          try await stand.relay.start()
        }
        ids.append(try await outbox.enqueue(request, Options(lane: lane)))
      }
      #expect(await Set(outbox.words(of: ids)) == ["delivered 200"])
      if lane == "sales" { try await write(outbox) }
      await outbox.close()
    }

    /// Writes down what an audit needs of the relay.
    private func write(_ outbox: Outbox) async throws {
      let keys = try await stand.relay.device("anybody").get("/.well-known/waystation/keys")
      try stand.folder.write("keys", String(decoding: keys.body, as: UTF8.self))
      try stand.folder.write(
        "receipts", await outbox.receipts("sales").map(\.json).joined(separator: "\n"))
      try stand.folder.write("ledger", await outbox.ledger("sales").joined())
    }

    /// What both programs find in a record of the upstream.
    private func audit(
      _ lines: [String], lane: String, client: String = OutboxStand.client
    ) async throws -> (command: String, example: String) {
      let folder = stand.folder
      try folder.write("requests", lines.joined(separator: "\n"))
      let command = try ChildProcess(
        Waystation.path,
        [
          "audit-lane", "--json", "--device-keys", folder.path + "/device", "--client",
          client, "--lane", lane, "--requests", folder.path + "/requests",
        ])
      let example = try ChildProcess(
        "python3",
        [
          ShellDocument.repository + "/examples/signed.py", folder.path + "/device",
          folder.path + "/requests", client, lane,
        ])
      let ending = try await command.ending()
      #expect(try await example.ending() == ending, "\(example.errors)\(command.errors)")
      return (command.output, example.output)
    }

    @Test(
      "an upstream finds each request signed, and whatever is done to it on the way",
      arguments: kinds)
    func tampered(_ kind: [String]) async throws {
      try await send(try await settings(kind), lane: "a")
      let lines = try stand.upstream.received.map { try $0.recorded() }
      #expect(lines.count >= 5)
      let whole = try await audit(lines, lane: "a")
      #expect(whole.command.contains(#""holds":true"#), "\(whole)")
      #expect(whole.command.contains(#""count":5"#), "\(whole)")
      #expect(whole.example.contains("5 numbers are signed, 1 to 5"), "\(whole)")
      let text = Data("grüße".utf8).base64EncodedString()
      let signature = try #require(stand.upstream.received[1].message["item-signature"])
      let cases: [(lines: [String], number: Int, reason: String)] = [
        (lines.filter { !$0.contains(text) }, 2, "missing-at-upstream"),
        (
          lines.map { $0.replacing(text, with: Data("grusse".utf8).base64EncodedString()) }, 2,
          "changed-after-signing"
        ),
        (lines.map { $0.replacing("last", with: "first") }, 5, "changed-after-signing"),
        ([lines[1], lines[0]] + lines[2...], 1, "another-order-than-signed"),
        (
          lines.map { $0.replacing(signature, with: signature.dropLast(8) + "AAAAAAAA") }, 2,
          "device-signature"
        ),
        (Array(lines.dropFirst()), 1, "missing-at-upstream"),
      ]
      for (lines, number, reason) in cases {
        let found = try await audit(lines, lane: "a")
        #expect(
          found.command.contains(#""reason":"\#(reason)","first":\#(number)"#), "\(found)")
        #expect(found.example.contains("number \(number): \(reason)"), "\(found)")
      }
      let cut = try await audit(Array(lines.dropLast()), lane: "a")
      #expect(cut.command.contains(#""last":4"#), "a tail can be held back: \(cut)")
    }

    @Test("a name that was mistyped is no proof, and what came unsigned besides is counted")
    func unsigned() async throws {
      try await send(try await settings(Self.kinds[0]), lane: "a")
      let lines = try stand.upstream.received.map { try $0.recorded() }
      let mistyped = try await audit(lines, lane: "b")
      #expect(mistyped.command.contains(#""holds":false,"reason":"nothing-signed""#), "\(mistyped)")
      #expect(mistyped.example.contains("nothing came that a device has signed"), "\(mistyped)")
      let forged = lines[0].replacing("Item-Signature", with: "X-Item")
      let besides = try await audit(lines + [forged], lane: "a")
      #expect(besides.command.contains(#""skippedUnsigned":1"#), "\(besides)")
      #expect(besides.example.contains("of which 1 may be of this lane"), "\(besides)")
      let last = try #require(stand.upstream.received.last?.message["item-signature"])
      let garbled = try await audit(lines.map { $0.replacing(last, with: "x.y.z") }, lane: "a")
      #expect(garbled.command.contains(#""skippedUnsigned":1"#), "\(garbled)")
      #expect(garbled.example.contains("of which 1 may be of this lane"), "\(garbled)")
      // Of two fields the upstream may have read the other one.
      let signature = try #require(stand.upstream.received[0].message["item-signature"])
      let twice = lines.map {
        $0.replacing(#""\#(signature)""#, with: #"["\#(signature)","x"]"#)
      }
      let doubled = try await audit(twice, lane: "a")
      #expect(doubled.command.contains(#""reason":"device-signature","first":1"#), "\(doubled)")
      #expect(doubled.example.contains("number 1: device-signature"), "\(doubled)")
    }

    @Test("relay, ledger and device agree about each request, in an audit of all")
    func audited() async throws {
      try await send(try await settings(Self.kinds[0]), lane: "sales")
      let folder = stand.folder
      func found(_ lines: [String]) async throws -> String {
        try folder.write("requests", lines.joined(separator: "\n"))
        let audit = try ChildProcess(
          Waystation.path,
          ["audit-lane", "--json", "--device-keys", folder.path + "/device"]
            + ["keys", "receipts", "ledger", "requests"].flatMap {
              ["--\($0)", folder.path + "/\($0)"]
            })
        _ = try await audit.ending()
        return audit.output + audit.errors
      }
      let lines = try stand.upstream.received.map { try $0.recorded() }
      let whole = try await found(lines)
      #expect(whole.contains(#""holds":true"#) && whole.contains(#""delivered":5"#), "\(whole)")
      #expect(whole.contains(#""count":5"#), "\(whole)")
      // A relay that signs for what it has done itself is found by the device's signature alone.
      let stripped = lines.map { $0.replacing("Item-Signature", with: "X-Item") }
      let other = try await found(stripped)
      #expect(other.contains(#""holds":false"#), "\(other)")
      #expect(other.contains(#""reason":"unsigned","first":1"#), "\(other)")
    }

    @Test("the example of the documentation verifies, and not for another body")
    func documented() async throws {
      let path = ShellDocument.repository + "/docs/receipts.md"
      let document = try String(contentsOfFile: path, encoding: .utf8)
        .split(separator: "\n").map(String.init)
      let key = try #require(document.first { $0.hasPrefix(#"{"crv":"P-256""#) })
      let field = try #require(document.first { $0.hasPrefix("eyJ") })
      try stand.folder.write("device", key)
      func found(_ body: String) async throws -> (command: String, example: String) {
        let line: [String: any Sendable] = [
          "method": "POST", "path": "/sales",
          "headers": [
            "Item-Signature": field, "Idempotency-Key": "sale-1",
            "Content-Type": "application/json",
          ], "bodyBase64": Data(body.utf8).base64EncodedString(),
        ]
        let text = String(decoding: try Device.json(line), as: UTF8.self)
        return try await audit([text], lane: "sales", client: "till-1")
      }
      let whole = try await found(#"{"cents": 1250}"#)
      #expect(whole.command.contains(#""holds":true"#), "\(whole)")
      #expect(whole.example.contains("1 numbers are signed"), "\(whole)")
      let changed = try await found(#"{"cents": 9250}"#)
      #expect(changed.command.contains("changed-after-signing"), "\(changed)")
      #expect(changed.example.contains("changed-after-signing"), "\(changed)")
    }

    @Test("a key of another kind is told with those that sign", arguments: ["secp256k1", "P-384"])
    func anotherKind(curve: String) async throws {
      let path = stand.folder.path + "/other.pem"
      let openssl = try ChildProcess(
        "openssl",
        ["genpkey", "-out", path, "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)"])
      #expect(try await openssl.ending() == .exit(0))
      do throws(OpenSSLSigner.Fault) {
        _ = try OpenSSLSigner(reading: path)
        Issue.record("it was taken")
      } catch {
        #expect(error.description.hasSuffix("; use Ed25519 or P-256"), "\(error)")
      }
    }

    @Test("a file without a key to sign with says what is wrong")
    func badKey() throws {
      try stand.folder.write("bad.pem", "nothing")
      #expect(throws: OpenSSLSigner.Fault.self) {
        try OpenSSLSigner(reading: stand.folder.path + "/bad.pem")
      }
      #expect(throws: OpenSSLSigner.Fault.self) {
        try OpenSSLSigner(reading: stand.folder.path + "/none.pem")
      }
    }
  }
}
