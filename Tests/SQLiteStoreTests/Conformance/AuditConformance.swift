import RelayCore
import SQLiteStore
import Testing

/// What every store promises of the audit log.
@Suite("conformance: audit log", .timeLimit(.minutes(5)))
struct AuditConformance {
  private func act(_ subject: String, _ bench: Bench, action: String = "pause") -> AuditAct {
    AuditAct(at: bench.clock.now, who: "ops", role: "steer", action: action, subject: subject)
  }

  @Test(
    "an act is there as begun, and with its end, also after a restart",
    arguments: StoreFactory.all)
  func survives(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let first = try await bench.store.beginAct(act("upstreams/a", bench))
      try await bench.reopen()
      let begun = try await bench.store.acts(before: nil, subject: nil, countMax: 10)
      #expect(begun.entries.map(\.end) == [AuditEnd(.begun)] && !begun.hasMore)
      #expect(begun.entries.first?.act == act("upstreams/a", bench))
      let second = try await bench.store.beginAct(act("clients/b", bench, action: "cancel"))
      #expect(second == first + 1)
      let ends: [AuditEnd] = [
        AuditEnd(.done, status: 200, detail: "3 cancelled"), AuditEnd(.refused, status: 409),
      ]
      try await bench.store.endAct(second, ends[0])
      try await bench.store.endAct(first, ends[1])
      try await bench.reopen()
      let page = try await bench.store.acts(before: nil, subject: nil, countMax: 10)
      #expect(page.entries.map(\.number) == [second, first])
      #expect(page.entries.map(\.end) == ends)
      #expect(page.entries.map(\.act.action) == ["cancel", "pause"])
    }
  }

  @Test(
    "acts come page by page, the newest first, all or one subject's",
    arguments: StoreFactory.all)
  func pages(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for number in 0..<20 {
        let subject = number.isMultiple(of: 2) ? "upstreams/even" : "upstreams/odd"
        _ = try await bench.store.beginAct(act(subject, bench))
      }
      let subjects: [(String?, Int)] = [
        (nil, 20), ("upstreams/even", 10), ("upstreams/odd", 10), ("upstreams", 0),
      ]
      for (subject, count) in subjects {
        var found: [Int64] = []
        var hasMore = true
        while hasMore {
          let page = try await bench.store.acts(
            before: found.last, subject: subject, countMax: 3)
          found += page.entries.map(\.number)
          hasMore = page.hasMore
          #expect(page.entries.count == 3 || !hasMore)
        }
        #expect(found.count == count && found == found.sorted(by: >))
      }
    }
  }

  @Test("what is too long is cut, between characters")
  func cut() {
    let act = AuditAct(
      at: WallTime(millisecondsSinceEpoch: 0), who: "ops", role: "steer", action: "pause",
      subject: String(repeating: "é", count: 600))
    #expect(act.subject.utf8.count == AuditAct.subjectBytesMax)
    let end = AuditEnd(.done, detail: "a" + String(repeating: "é", count: 600))
    #expect(end.detail?.utf8.count == AuditAct.detailBytesMax - 1)
    #expect(end.detail?.hasSuffix("é") == true)
  }

  @Test(
    "the oldest acts go once there are more than are kept, also under a lower limit",
    arguments: StoreFactory.all)
  func bound(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for number in 1...30 { _ = try await bench.store.beginAct(act("clients/\(number)", bench)) }
      var rules = StoreRules()
      rules.auditEntriesMax = 10
      try await bench.reopen(rules: rules)
      #expect(try await bench.store.beginAct(act("clients/31", bench)) == 31)
      let kept = try await bench.store.acts(before: nil, subject: nil, countMax: 100)
      #expect(kept.entries.map(\.number) == Array((22...31).reversed()))
      // The end of an act that is not kept any more goes nowhere.
      try await bench.store.endAct(3, AuditEnd(.done))
      let older = try await bench.store.acts(before: 22, subject: nil, countMax: 100)
      #expect(older.entries.isEmpty)
    }
  }
}
