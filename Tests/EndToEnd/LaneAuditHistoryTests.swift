import Foundation
import RelayCore
import Testing

/// What a relay has signed at several times: pages, receipts, chains and keys.
extension EndToEnd.LaneAudits {
  // MARK: - Pages

  /// What a page says of a number.
  struct Said: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var ending: LedgerEntry.Ending?

    init(_ description: String, _ ending: LedgerEntry.Ending?) {
      (testDescription, self.ending) = (description, ending)
    }

    static let delivered = Said("delivered", AuditFiles.ending(.delivered))
    /// The relay made no receipts when it forgot the envelope.
    static let withoutAnswer = Said(
      "delivered, and the answer is forgotten",
      LedgerEntry.Ending(
        state: .delivered, status: 201, responseDigest: LedgerEntry.noDigest, at: AuditFiles.time))
    static let undelivered = [
      Said("waiting", nil), Said("failed", AuditFiles.ending(.failed)),
      Said("expired", AuditFiles.ending(.expired)),
      Said("cancelled", AuditFiles.ending(.cancelled)),
    ]
    static let otherDeliveries = [
      Said("delivered with another status", AuditFiles.ending(.delivered, status: 409)),
      Said(
        "delivered with another answer",
        LedgerEntry.Ending(
          state: .delivered, status: 201, responseDigest: AuditFiles.hash([1]),
          at: AuditFiles.time)),
      Said(
        "delivered at another time",
        LedgerEntry.Ending(
          state: .delivered, status: 201, responseDigest: AuditFiles.hash(Array("ok".utf8)),
          at: WallTime(millisecondsSinceEpoch: AuditFiles.time.millisecondsSinceEpoch + 1))),
    ]
  }

  /// A lane of which two pages were signed, so many milliseconds apart: a number for each pair.
  private func files(
    _ pairs: [(earlier: Said, later: Said)], apart: Int64
  ) throws -> AuditFiles {
    var files = try AuditFiles()
    for _ in pairs { files.take(nil, requests: 1) }
    files.receipt()
    var later = files
    for (place, pair) in pairs.enumerated() {
      files.rows[place].ending = pair.earlier.ending
      later.rows[place].ending = pair.later.ending
    }
    later.pagesAt = WallTime(
      millisecondsSinceEpoch: AuditFiles.time.millisecondsSinceEpoch + apart)
    files.edits["ledger"] = { [later] in "\(later.ledger)\n\($0)" }
    return files
  }

  @Test("whatever ends later, or is put back in line before it was delivered, is honest")
  func laterEnds() async throws {
    let all = Said.undelivered + [.delivered, .withoutAnswer]
    var pairs: [(earlier: Said, later: Said)] = [
      (.delivered, .delivered), (.delivered, .withoutAnswer), (.withoutAnswer, .withoutAnswer),
    ]
    for earlier in Said.undelivered { pairs += all.map { (earlier, $0) } }
    let verdict = try await verdict(files(pairs, apart: 1), ends: 0)
    #expect(verdict["delivered"] as? Int == 8 + 3)
    for name in ["waiting", "failed", "expired", "cancelled"] {
      #expect(verdict[name] as? Int == 4, "\(name)")
    }
  }

  @Test(
    "a delivery that a later page takes back, or tells otherwise, is named",
    arguments: Said.undelivered + Said.otherDeliveries)
  func takenBack(_ later: Said) async throws {
    let waiting = Said.undelivered[0]
    let files = try files([(waiting, .delivered), (.delivered, later)], apart: 60_001)
    let verdict = try await verdict(files, ends: 1)
    #expect(verdict["reason"] as? String == "pages-contradict")
    #expect(verdict["first"] as? Int == 2 && verdict["last"] as? Int == 2)
  }

  @Test("an answer that a page did not have is in no later one")
  func answerMadeUp() async throws {
    let files = try files([(.withoutAnswer, .delivered)], apart: 1)
    #expect(try await verdict(files, ends: 1)["reason"] as? String == "pages-contradict")
  }

  @Test("a page that was read just before a delivery, and signed just after, takes nothing back")
  func justBefore() async throws {
    let pairs = Said.undelivered.map { (earlier: Said.delivered, later: $0) }
    let verdict = try await verdict(files(pairs, apart: 60_000), ends: 0)
    #expect(verdict["delivered"] as? Int == 4)
  }

  @Test("of two pages of one time either may be the earlier one")
  func sameTime() async throws {
    var pairs: [(earlier: Said, later: Said)] = []
    for said in Said.undelivered + [.withoutAnswer] {
      pairs += [(said, .delivered), (.delivered, said)]
    }
    let verdict = try await verdict(files(pairs, apart: 0), ends: 0)
    #expect(verdict["delivered"] as? Int == 10)
    let other = try files([(.delivered, Said.otherDeliveries[0])], apart: 0)
    #expect(try await self.verdict(other, ends: 1)["reason"] as? String == "pages-contradict")
  }

  // MARK: - Receipts

  /// What a relay has signed, and the commit of which it has signed two histories.
  struct History: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var group: Int
    var first = 8
    var tamper: @Sendable (inout AuditFiles) -> Void
  }

  private static let histories = [
    History(testDescription: "a commit is signed twice", group: 2) { files in
      files.heads.append(files.heads[2])
      files.restored[3] = 1
    },
    History(testDescription: "a commit follows another than the one that is shown", group: 2) {
      $0.heads += [$0.heads[2], $0.heads[2]]
      $0.restored[3] = 1
      $0.edits["receipts"] = { text in
        let lines = text.split(separator: "\n")
        return [0, 1, 4].map { String(lines[$0]) }.joined(separator: "\n")
      }
    },
    History(testDescription: "a later commit has a lower last number", group: 3) {
      $0.heads.swapAt(1, 2)
    },
    History(testDescription: "two commits have the same last number", group: 4, first: 12) {
      $0.heads.append($0.heads[2])
    },
  ]

  @Test("receipts that prove two histories are named, and the commit", arguments: histories)
  func twoHistories(_ one: History) async throws {
    var files = try Self.files()
    one.tamper(&files)
    let verdict = try await verdict(files, ends: 1)
    #expect(verdict["reason"] as? String == "two-histories")
    #expect(verdict["group"] as? Int == one.group)
    #expect(verdict["first"] as? Int == one.first && verdict["last"] as? Int == 12)
    let words = try await files.audit(isJSON: false)
    #expect(words.command.output.contains("two histories of its commit \(one.group)"))
  }

  @Test("receipts in any order, each given twice, are one history")
  func oneHistory() async throws {
    var files = try Self.files()
    files.edits["receipts"] = { text in
      (text.split(separator: "\n").reversed() + text.split(separator: "\n"))
        .joined(separator: "\n")
    }
    #expect(try await verdict(files, ends: 0)["delivered"] as? Int == 4)
  }

  // MARK: - Chains

  @Test("a chain from before the lane was an evidence lane is told apart, and does not hold")
  func earlierChain() async throws {
    var files = try Self.files()
    var earlier = try AuditFiles(begin: 1)
    for _ in 1...2 { earlier.take(.delivered, requests: 1) }
    earlier.receipt()
    files.heads = earlier.heads + files.heads
    files.requests = earlier.requests + files.requests
    let verdict = try await verdict(files, ends: 1)
    #expect(verdict["reason"] as? String == "chain-not-in-ledger")
    #expect(verdict["first"] as? Int == 1 && verdict["last"] as? Int == 2)
    #expect(verdict["next"] as? Int == 3)
    let words = try await files.audit(isJSON: false).command.output
    #expect(words.contains("numbers 1 to 2") && words.contains("begins at number 3"), "\(words)")
    #expect(words.contains("--from 3"), "\(words)")
    let later = try await self.verdict(files, "--from", "3", ends: 0)
    #expect(later["delivered"] as? Int == 4 && later["notCovered"] as? Int == 2)
    let second = files.heads.dropFirst()
    files.heads = earlier.heads
    for answer in [try await files.audit(["--from", "3"])].flatMap({ [$0.command, $0.example] }) {
      #expect(answer.ending == .exit(2) && answer.errors.contains("goes as far as 3"), "\(answer)")
    }
    files.heads = Array(second)
    #expect(try await self.verdict(files, ends: 0)["notCovered"] as? Int == 2)
  }

  // MARK: - Words

  @Test("files of two lanes are both named")
  func otherLane() async throws {
    var files = try Self.files()
    files.edits["receipts"] = { $0.replacing("\"till-1\"", with: "\"till-9\"") }
    let (command, example) = try await files.audit()
    for answer in [command, example] {
      #expect(answer.ending == .exit(2))
      #expect(answer.errors.contains("/ledger is the ledger of till-1/sälés/1"), "\(answer)")
      #expect(
        answer.errors.contains("/receipts has no receipt of that lane, but of till-9/sälés/1"))
    }
  }

  @Test("keys from before a rotation are to be fetched again, and those before a pin are told")
  func oldKeys() async throws {
    var files = try Self.files()
    let old = files.keys
    try files.rotate()
    let kid = files.kid
    let pinned = try await files.audit(["--pin=\(kid)"], isJSON: false)
    #expect(pinned.command.output.contains("made before the one that is pinned"))
    files.edits["keys.json"] = { _ in old }
    let verdict = try await verdict(files, ends: 1)
    #expect(verdict["reason"] as? String == "page")
    let (command, example) = try await files.audit(isJSON: false)
    for answer in [command, example] {
      #expect(answer.output.contains("signed by the key \(kid), which"), "\(answer)")
      #expect(answer.output.contains("fetch /.well-known/waystation/keys again"), "\(answer)")
    }
  }
}
