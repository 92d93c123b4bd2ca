import Foundation
import RelayCore
import Testing

extension EndToEnd {
  /// `waystation audit-lane` and `examples/audit.py`, which share no code, on the same files.
  @Suite("Audits of lanes", .serialized, .ofNoStore)
  struct LaneAudits {
    /// Numbers 3 to 12: 6 given up, receipts of 5, 8 and 12.
    static func files() throws -> AuditFiles {
      var files = try AuditFiles(begin: 3)
      files.take(.delivered, requests: 1)
      files.take(.delivered, requests: 2)
      files.take(.delivered, requests: 1)
      files.receipt()
      files.giveUp()
      files.take(.failed)
      files.take(.expired, requests: 1)
      files.receipt()
      files.take(nil)
      files.take(.cancelled)
      files.take(nil, requests: 1)
      files.take(.delivered, requests: 1)
      files.receipt()
      files.pages = [SequenceRange(first: 1, last: 7), SequenceRange(first: 8, last: 12)]
      return files
    }

    /// Both say the same, word for word.
    func verdict(
      _ files: AuditFiles, _ more: String..., ends ending: Int32
    ) async throws -> [String: Any] {
      let (command, example) = try await files.audit(more)
      #expect(command.ending == .exit(ending), "\(command)")
      #expect(example.ending == command.ending, "\(example)")
      #expect(example.output == command.output)
      guard ending < 2 else { return [:] }
      let object = try JSONSerialization.jsonObject(with: Data(command.output.utf8))
      return try #require(object as? [String: Any])
    }

    @Test("an honest lane holds for both, and they count alike")
    func holds() async throws {
      var files = try Self.files()
      files.requests.append(AuditFiles.Line(13))
      var other = AuditFiles.Line(4)
      other.more = ["client": "till-2"]
      files.requests.append(other)
      (other.more, other.lacks) = ([:], ["sequence"])
      files.requests.append(other)
      let verdict = try await verdict(files, ends: 0)
      #expect(verdict["holds"] as? Bool == true && verdict["lane"] as? String == "sälés/1")
      let counts = [
        "delivered": 4, "failed": 1, "expired": 1, "cancelled": 1, "waiting": 2, "givenUp": 1,
        "repeated": 1, "notCovered": 1, "skipped": 2,
      ]
      for (name, count) in counts { #expect(verdict[name] as? Int == count, "\(name)") }
      #expect(verdict["issuer"] as? String == "https://relay.example")
      #expect(verdict["kid"] as? String == files.kid && verdict["pinned"] as? Bool == false)
      let chains = try #require(verdict["chains"] as? [[String: Any]])
      #expect(chains.map { $0["first"] as? Int } == [3] && chains[0]["last"] as? Int == 12)
    }

    @Test("people are told in words")
    func words() async throws {
      var files = try Self.files()
      let good = try await files.audit(["--pin=\(files.kid)"], isJSON: false)
      for answer in [good.command, good.example] {
        #expect(answer.ending == .exit(0) && answer.output.hasPrefix("holds: till-1/sälés/1, "))
      }
      #expect(good.command.output.contains("delivered 4, failed 1, expired 1, cancelled 1"))
      #expect(good.command.output.contains("which you trust; https://relay.example"))
      files.requests.removeFirst()
      let bad = try await files.audit(isJSON: false)
      for answer in [bad.command, bad.example] {
        #expect(answer.ending == .exit(1) && answer.output.hasPrefix("does not hold: till-1/"))
      }
      #expect(bad.command.output.contains("number 3: the ledger calls it delivered"))
    }

    /// A way to tamper, and what both have to say.
    struct Case: Sendable, CustomTestStringConvertible {
      var testDescription: String
      var reason: String
      var first: Int
      var last: Int
      var tamper: @Sendable (inout AuditFiles) throws -> Void

      init(
        _ description: String, _ reason: String, _ first: Int, _ last: Int? = nil,
        _ tamper: @escaping @Sendable (inout AuditFiles) throws -> Void
      ) {
        (testDescription, self.reason, self.first) = (description, reason, first)
        (self.last, self.tamper) = (last ?? first, tamper)
      }
    }

    private static let tamperedCases: [Case] = [
      Case("a row is gone", "left-out-of-ledger", 4) { $0.rows.remove(at: $0.place(4)) },
      Case("a row and its trace is gone", "left-out-of-ledger", 4) { files in
        files.rows.remove(at: files.place(4))
        files.relink()
      },
      Case("an unseen row is gone", "link-does-not-follow", 9, 10) { files in
        files.rows.remove(at: files.place(9))
      },
      Case("all rows of a receipt are gone", "left-out-of-ledger", 8) { files in
        files.rows.removeAll { 6...8 ~= $0.number }
        files.requests.removeAll { $0.number == 8 }
      },
      Case("a row is changed", "changed-in-ledger", 4) { files in
        files.rows[files.place(4)].digest = files.digest(AuditFiles.Line(5))
      },
      Case("a row is changed, and the links", "changed-in-ledger", 4) { files in
        files.rows[files.place(4)].digest = files.digest(AuditFiles.Line(5))
        files.relink()
      },
      Case("an unseen row is changed", "link-does-not-follow", 10) { files in
        files.rows[files.place(10)].digest = files.digest(AuditFiles.Line(5))
      },
      Case("an unseen row is changed, and the links", "ledger-does-not-lead-to-receipt", 9, 12) {
        $0.rows[$0.place(10)].digest = $0.digest(AuditFiles.Line(5))
        $0.relink()
      },
      Case("a row is put in", "added-to-ledger", 6) { files in
        let digest = files.digest(AuditFiles.Line(6))
        let former = files.rows[files.place(5)].link
        let link = LaneChain.link(after: former, 6, digest, AuditFiles.hash)
        files.rows.insert(
          LedgerEntry(number: 6, digest: digest, link: link, ending: nil), at: 3)
      },
      Case("a link is changed", "link-does-not-follow", 4) { files in
        files.rows[files.place(4)].link = files.digest(AuditFiles.Line(5))
      },
      Case("what failed is called delivered", "not-at-upstream", 7) { files in
        files.rows[files.place(7)].ending = AuditFiles.ending(.delivered)
      },
      Case("a request is gone", "not-at-upstream", 5) { files in
        files.requests.removeAll { $0.number == 5 }
      },
      Case("a request has another body", "another-request-at-upstream", 5) { files in
        files.requests[3].body = "sale 6"
      },
      Case("a repeat has another path", "another-request-at-upstream", 4) { files in
        files.requests[2].more = ["path": "/sales"]
      },
      Case("two requests are swapped", "another-order", 4) { $0.requests.swapAt(1, 3) },
      Case("a request is put in", "not-in-ledger", 6) { files in
        files.requests.insert(AuditFiles.Line(6), at: 4)
      },
      Case("a page is missing", "no-page", 6) { files in
        files.pages[0] = SequenceRange(first: 3, last: 5)
      },
      Case("two pages disagree", "pages-contradict", 4) { files in
        let first = files
        files.edits["ledger"] = { text in
          var other = first
          other.rows[other.place(4)].ending = AuditFiles.ending(.delivered, status: 409)
          return text + "\n" + other.ledger
        }
      },
      Case("two receipts disagree", "receipts-contradict", 8) { files in
        var other = try AuditFiles(begin: 3)
        for _ in 3...8 { other.take(nil) }
        other.receipt()
        files.heads += other.heads
      },
    ]

    @Test("each way to tamper is found by both, at the same number", arguments: tamperedCases)
    func tampered(_ one: Case) async throws {
      var files = try Self.files()
      try one.tamper(&files)
      let verdict = try await verdict(files, ends: 1)
      #expect(verdict["holds"] as? Bool == false)
      #expect(verdict["reason"] as? String == one.reason)
      #expect(verdict["first"] as? Int == one.first && verdict["last"] as? Int == one.last)
      if one.reason == "another-order" { #expect(verdict["behind"] as? Int == 5) }
    }

    @Test("both agree on lanes with several faults", arguments: 1...6 as ClosedRange<UInt64>)
    func several(seed: UInt64) async throws {
      var random = SplitMix64(seed: seed)
      var files = try AuditFiles(begin: Int64.random(in: 1...50, using: &random))
      for _ in 0..<Int.random(in: 5...30, using: &random) { files.takeAny(&random) }
      files.take(.delivered, requests: 1)
      files.receipt()
      for _ in 0..<Int.random(in: 1...3, using: &random) { files.tamper(&random) }
      let (command, example) = try await files.audit()
      #expect([.exit(0), .exit(1)].contains(command.ending), "\(command)")
      #expect(example.ending == command.ending, "\(example)")
      #expect(example.output == command.output)
    }

    /// What does not hold by itself.
    private static let unsignedCases: [Case] = [
      Case("a row of a page is edited", "page", 2) { files in
        files.edits["ledger"] = { $0.replacing("\"cancelled\"", with: "\"failed\"") }
      },
      Case("a page says another range", "page", 1) { files in
        files.edits["ledger"] = { $0.replacing("\"last\":7,\"jws\"", with: "\"last\":6,\"jws\"") }
      },
      Case("a page is signed as something else", "page", 1) { files in
        files.pageType = "waystation-receipt+jws"
      },
      Case("a page is signed by a stranger", "page", 1) { files in
        files.signing.pages = try AuditFiles().shown
      },
      Case("a receipt is edited", "receipt", 2) { files in
        files.edits["receipts"] = { $0.replacing("\"last\":8,", with: "\"last\":9,") }
      },
      Case("a receipt is signed by a stranger", "receipt", 1) { files in
        files.signing.receipts = try AuditFiles().shown
      },
      Case("a key is not endorsed by the one before it", "keys", 0) { files in
        var other = try AuditFiles()
        try files.rotate()
        try other.rotate()
        let (own, wrong) = (try #require(files.endorsement), try #require(other.endorsement))
        files.edits["keys.json"] = { $0.replacing(own, with: wrong) }
      },
    ]

    @Test(
      "what is not signed does not hold for both, whatever else holds", arguments: unsignedCases)
    func unsigned(_ one: Case) async throws {
      var files = try Self.files()
      try one.tamper(&files)
      let verdict = try await verdict(files, ends: 1)
      #expect(verdict["reason"] as? String == one.reason)
      #expect(verdict["place"] as? Int ?? 0 == one.first)
    }

    @Test("keys are trusted from the one on that is pinned")
    func pinned() async throws {
      var files = try Self.files()
      let first = files.kid
      try files.rotate()
      let last = files.kid
      #expect(try await verdict(files, "--pin=\(first)", ends: 0)["pinned"] as? Bool == true)
      #expect(try await verdict(files, ends: 0)["kid"] as? String == first)
      let late = try await verdict(files, "--pin=\(last)", ends: 1)
      #expect(late["reason"] as? String == "receipt" && late["place"] as? Int == 1)
      let unknown = try await verdict(files, "--pin", "-nobody", ends: 1)
      #expect(unknown["reason"] as? String == "keys")
    }

    @Test("what a record lacks is taken from the request's fields, and the path is stripped")
    func fields() async throws {
      var files = try AuditFiles()
      for _ in 1...3 { files.take(.delivered, requests: 1, to: "shop") }
      files.receipt()
      for index in files.requests.indices {
        let number = files.requests[index].number
        files.requests[index].lacks = ["sequence", "key"]
        files.requests[index].more = [
          "method": "POST", "path": "/v2/sales?n=\(number)",
          "headers": [
            "WAYSTATION-Sequence": ["\(number)"], "Waystation-Key": ["k-\(number)"],
            "Waystation-Client": ["till-1"], "waystation-lane": ["sälés/1"],
            "content-type": ["text/plain"], "X-Other": ["a", "b"],
          ],
        ]
      }
      files.requests[1].more["headers"] = ["Waystation-Sequence": "2", "Waystation-Lane": "other"]
      let options = ["--upstream", "shop", "--strip-path"]
      for (prefix, number) in [("/v2", 2), ("/v2/", 2), ("/v", 1), ("/v3", 1)] {
        let verdict = try await verdict(files, options[0], options[1], options[2], prefix, ends: 1)
        #expect(verdict["first"] as? Int == number, "\(prefix)")
      }
      files.requests[1] = AuditFiles.Line(2)
      #expect(
        try await verdict(files, options[0], options[1], options[2], "/v2", ends: 0).count > 9)
      files.requests[1].more = ["upstream": "other"]
      let other = try await verdict(files, options[0], options[1], options[2], "/v2", ends: 1)
      #expect(other["reason"] as? String == "another-request-at-upstream")
    }

    @Test("an audit begins behind an older receipt where that is asked for")
    func from() async throws {
      var files = try Self.files()
      files.rows.removeFirst(3)
      files.requests.removeFirst(4)
      files.pages = [SequenceRange(first: 6, last: 20)]
      let verdict = try await verdict(files, "--from", "6", ends: 0)
      #expect(verdict["delivered"] as? Int == 1 && verdict["givenUp"] as? Int == 1)
      #expect(try await self.verdict(files, ends: 1)["reason"] as? String == "no-page")
      _ = try await self.verdict(files, "--from", "7", ends: 2)
      _ = try await self.verdict(files, "--from", "13", ends: 2)
    }

    @Test("receipts may stand in answers, and of two chains both are audited")
    func chains() async throws {
      var files = try Self.files()
      var second = try AuditFiles(begin: 40)
      second.take(.delivered, requests: 1)
      second.receipt()
      files.heads += second.heads
      files.requests += second.requests
      files.rows += second.rows
      files.pages.append(SequenceRange(first: 13, last: 40))
      files.edits["receipts"] = { text in
        let lines = text.split(separator: "\n")
        return "{\"receipts\": [\(lines[0]),\n \(lines[1])]}".replacing("\n", with: "")
          + "\n\n{\"receipt\": \(lines[2])}\n\(lines[3])\n"
      }
      let verdict = try await verdict(files, ends: 0)
      #expect((verdict["chains"] as? [Any])?.count == 2 && verdict["delivered"] as? Int == 5)
      files.edits["receipts"] = { text in
        "{\"result\": \"stored\",\n\"receipt\":\n\(text.split(separator: "\n")[2])}"
      }
      let alone = try await self.verdict(files, ends: 0)
      #expect(alone["delivered"] as? Int == 4 && alone["notCovered"] as? Int == 1)
      files.rows[files.place(40)].digest = files.digest(AuditFiles.Line(7))
      files.edits = [:]
      let broken = try await self.verdict(files, ends: 1)
      #expect(broken["first"] as? Int == 40 && (broken["chains"] as? [Any])?.count == 2)
    }

    @Test("files that cannot be read are told apart from what does not hold")
    func unreadable() async throws {
      let texts: [(String, String)] = [
        ("keys.json", "{}"), ("keys.json", "no"), ("receipts", ""), ("receipts", "[1]"),
        ("receipts", "{\"client\":\"till-1\",\"lane\":\"x\",\"jws\":\"\"}"), ("ledger", ""),
        ("ledger", "{}"), ("requests", "{"), ("requests", "{\"sequence\": 3}"),
        ("requests", "{\"sequence\": \"a\", \"path\": \"/\"}"),
      ]
      for (name, text) in texts {
        var files = try Self.files()
        files.edits[name] = { _ in text }
        _ = try await verdict(files, ends: 2)
      }
      var cut = try Self.files()
      cut.edits["ledger"] = { text in
        text.split(separator: "\n").dropLast().joined(separator: "\n")
      }
      _ = try await verdict(cut, ends: 2)
      let missing = try await Waystation.run(
        "audit-lane", "--receipts", "a", "--keys", "/nowhere", "--ledger", "b", "--requests", "c")
      #expect(missing.ending == .exit(2) && missing.errors.contains("/nowhere cannot be read"))
    }

    @Test("one of the files may come by standard input", arguments: ["ledger", "requests"])
    func standardInput(_ name: String) async throws {
      let files = try Self.files()
      try files.write()
      let options = ["keys.json", "receipts", "ledger", "requests"].map { file in
        "--\(file.prefix { $0 != "." }) \(file == name ? "-" : file)"
      }
      for program in ["'\(Waystation.path)' audit-lane", "'\(Self.example)'"] {
        let line =
          "cd '\(files.folder.path)'; \(program) \(options.joined(separator: " ")) < \(name)"
        let process = try ChildProcess("bash", ["-c", line])
        #expect(try await process.ending() == .exit(0), "\(process.output)\(process.errors)")
      }
    }

    private static let example = ShellDocument.repository + "/examples/audit.py"
  }
}
