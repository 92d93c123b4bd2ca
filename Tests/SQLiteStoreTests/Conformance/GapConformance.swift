import RelayCore
import StoreModel
import Synchronization
import Testing

/// What every store promises of sequence numbers that wait for each other.
@Suite("conformance: gaps in sequence numbers", .timeLimit(.minutes(5)))
struct GapConformance {
  @Test(
    "what comes ahead of a gap is parked, and stands in line once the gap has closed, in order",
    arguments: StoreFactory.planned)
  func flows(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      _ = try await bench.accept(bench.draft(sequence: 1))
      let results = try await bench.planned.append(
        [bench.draft(sequence: 5), bench.draft(sequence: 3), bench.draft()], isAtomic: false)
      let (five, fiveMissing) = try parked(results[0])
      let (three, threeMissing) = try parked(results[1])
      #expect(fiveMissing == missing((2, 2), (4, 4)) && threeMissing == missing((2, 2)))
      guard case .accepted(_, .queued, 2) = results[2] else {
        throw Unexpected(description: "one without a number is taken as it comes: \(results[2])")
      }
      try await bench.reopen()
      let lane = try #require(try await bench.planned.client("device-1")?.lanes.first)
      #expect(lane.lastSequence == 1 && lane.highestSequence == 5)
      #expect(lane.missing == missing((2, 2), (4, 4)))
      #expect(try await bench.planned.envelope(five)?.missing == missing((2, 2), (4, 4)))
      #expect(bench.planned.statistics().envelopes[.parked] == 2)

      try await bench.accept(bench.draft(sequence: 2))
      #expect(try await bench.planned.envelope(three)?.state == .queued)
      #expect(try await bench.planned.envelope(five)?.state == .parked)
      try await bench.accept(bench.draft(sequence: 4))
      #expect(try await numbersInLine(bench) == [1, nil, 2, 3, 4, 5])
      try await bench.reopen()
      #expect(try await numbersInLine(bench) == [1, nil, 2, 3, 4, 5])
      let whole = try #require(try await bench.planned.client("device-1")?.lanes.first)
      #expect(whole.lastSequence == 5 && whole.highestSequence == nil && whole.missing.isEmpty)
      #expect(bench.planned.statistics().envelopes[.parked] == 0)
      #expect(bench.planned.statistics().envelopes[.queued] == 6)
    }
  }

  @Test(
    "a void number counts as come: what is behind it goes on, and nothing of it is stored",
    arguments: StoreFactory.all)
  func voids(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      func void(_ number: Int64) async throws -> AppendResult {
        var draft = bench.draft(sequence: number)
        draft.isVoid = true
        return try await bench.planned.append([draft], isAtomic: false)[0]
      }
      // The first number of a lane that nobody knows, and one ahead of a gap.
      #expect(try await void(1) == .void)
      let four = try await bench.accept(bench.draft(sequence: 4))
      #expect(try await bench.planned.envelope(four)?.state == .parked)
      #expect(try await void(6) == .void)
      #expect(try await void(3) == .void)
      #expect(try await void(3) == .forgotten)
      #expect(try await void(4) == .sequenceConflict(id: four))
      let lane = try #require(try await bench.planned.client("device-1")?.lanes.first)
      #expect(
        lane.missing.ranges == [SequenceRange(first: 2, last: 2), SequenceRange(first: 5, last: 5)])
      try await bench.accept(bench.draft(sequence: 2))
      #expect(try await numbersInLine(bench) == [2, 4])
      // Behind the last gap there is nothing but the void number: it is passed at once.
      try await bench.accept(bench.draft(sequence: 5))
      let seven = try await bench.accept(bench.draft(sequence: 7))
      #expect(try await bench.planned.envelope(seven)?.state == .queued)
      try await bench.reopen()
      #expect(try await numbersInLine(bench) == [2, 4, 5, 7])
      #expect(bench.planned.statistics().envelopes[.queued] == 4)
      let whole = try #require(try await bench.planned.client("device-1")?.lanes.first)
      #expect(whole.lastSequence == 7 && whole.missing.isEmpty)
      // An envelope that comes under a void number comes too late.
      let late = try await bench.planned.append([bench.draft(sequence: 3)], isAtomic: false)
      #expect(late == [.sequencePassed(last: 7)])
    }
  }

  @Test(
    "in one batch, atomic or not, void numbers and envelopes take their places together",
    arguments: StoreFactory.all)
  func voidBatch(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      var first: Int64 = 1
      for isAtomic in [false, true] {
        let drafts = (first..<first + 5).map { number in
          var draft = bench.draft(sequence: number)
          draft.isVoid = number % 2 == 0
          return draft
        }
        // The later numbers come first, so that all but the last item wait for others.
        let results = try await bench.planned.append(drafts.reversed(), isAtomic: isAtomic)
        #expect(results.count { $0 == .void } == (isAtomic ? 3 : 2))
        first += 5
      }
      #expect(try await numbersInLine(bench) == [1, 3, 5, 7, 9])
      #expect(bench.planned.statistics().envelopes[.parked] == 0)
      var void = bench.draft(sequence: first)
      void.isVoid = true
      let refused = try await bench.planned.append(
        [bench.draft(sequence: first), void], isAtomic: true)
      #expect(refused == [.leftOut, .sequenceConflict(id: nil)])
    }
  }

  @Test("an id finds its envelope wherever that has moved", arguments: StoreFactory.all)
  func found(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let id = try await bench.accept(bench.draft(key: "k", sequence: 2))
      let before = try await bench.entry(id)
      #expect(before.standing == .parked && before.serial == id.serial)
      try await bench.accept(bench.draft(sequence: 1))
      let told = try #require(bench.observer.state.withLock { $0.accepted.last })
      #expect(told.movedFrom == id.serial && told.id == id && told.entry.standing == .queued)
      #expect(told.entry.acceptedAt == before.acceptedAt && told.entry.serial == 3)
      for _ in 0..<2 {
        let record = try #require(try await bench.store.envelope(id))
        #expect(record.id == id && record.entry.serial == 3 && record.draft.key == "k")
        #expect(try await bench.store.envelope(client: "device-1", key: "k") == id)
        #expect(try await bench.store.ids(of: [2, 3, id.serial])[3] == id)
        #expect(try await bench.store.ids(of: [id.serial]) == [id.serial: id])
        let fates = try await bench.store.fates(of: [.id(id), .key("k", client: "device-1")])
        #expect(fates.map { $0?.serial } == [3, 3] && fates.map { $0?.id } == [id, id])
        let page = try await bench.store.list(
          EnvelopeFilter(), after: 0, countMax: 10, looksMax: 10)
        #expect(page.envelopes.map(\.id.serial) == [2, 1])
        #expect(try await bench.store.load([3]).map(\.id) == [id])
        try await bench.reopen()
      }
      try await bench.record(
        id, .end(.delivered, reason: "answered 200"),
        response: UpstreamResponse(status: 200, headers: HeaderBlock(), body: [7]))
      #expect(try await bench.store.envelope(id)?.state == .delivered)
      #expect(try await bench.store.response(id)?.body == [7])
      let forged = EnvelopeID(high: id.high, low: id.low ^ 1)
      #expect(try await bench.store.envelope(forged) == nil)
    }
  }

  @Test(
    "a batch may be in any order, and stands in line in that of its numbers",
    arguments: StoreFactory.planned)
  func batch(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let results = try await bench.planned.append(
        [3, 1, 2].map { bench.draft(sequence: $0) }, isAtomic: true)
      let positions = try results.map { result -> Int in
        guard case .accepted(_, .queued, let position) = result else {
          throw Unexpected(description: "\(results)")
        }
        return position
      }
      #expect(positions == [3, 1, 2])
      #expect(try await numbersInLine(bench) == [1, 2, 3])
    }
  }

  @Test(
    "a number seen again is a duplicate, and a conflict with other content",
    arguments: StoreFactory.planned)
  func duplicates(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let two = try await bench.accept(bench.draft(key: "k", sequence: 2))
      let same = bench.draft(key: "k", sequence: 2)
      #expect(try await append(same, bench) == .duplicate(id: two, state: .parked))
      #expect(try await append(bench.draft(sequence: 2), bench) == .sequenceConflict(id: two))
      let other = bench.draft(key: "l", sequence: 2)
      #expect(try await append(other, bench) == .sequenceConflict(id: two))
      let one = try await bench.accept(bench.draft(sequence: 1))
      #expect(try await append(same, bench) == .duplicate(id: two, state: .queued))
      #expect(
        try await append(bench.draft(sequence: 1), bench) == .duplicate(id: one, state: .queued))
      #expect(
        try await append(bench.draft(fingerprint: 9, sequence: 1), bench)
          == .sequenceConflict(id: one))
      // Numbers of two lanes are strangers.
      try await bench.accept(bench.draft(lane: "other", fingerprint: 9, sequence: 1))
      // What is kept no longer was there all the same.
      try await bench.record(one, .end(.delivered, reason: ""))
      try await bench.record(two, .end(.delivered, reason: ""))
      try await deleteAll(bench)
      #expect(try await bench.planned.envelope(two) == nil)
      #expect(try await append(bench.draft(sequence: 1), bench) == .forgotten)
      #expect(try await append(bench.draft(sequence: 2), bench) == .forgotten)
      #expect(try await bench.planned.client("device-1")?.lanes.first?.lastSequence == 2)
    }
  }

  @Test(
    "of many posts of the same numbers at once, each is stored once, and they stand in order",
    arguments: StoreFactory.planned)
  func concurrent(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in (1...60).shuffled() {
          for _ in 0..<3 {
            group.addTask {
              _ = try await bench.planned.append(
                [bench.draft(sequence: Int64(number))], isAtomic: false)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await numbersInLine(bench) == (1...60).map { Int64($0) })
    }
  }

  @Test(
    "an atomic batch with a number that stands for something else stores nothing",
    arguments: StoreFactory.planned)
  func atomic(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let one = try await bench.accept(bench.draft(sequence: 1))
      let results = try await bench.planned.append(
        [
          bench.draft(sequence: 2), bench.draft(sequence: 1),
          bench.draft(fingerprint: 9, sequence: 1), bench.draft(sequence: 9),
          bench.draft(fingerprint: 9, sequence: 9),
        ], isAtomic: true)
      #expect(
        results == [
          .leftOut, .duplicate(id: one, state: .queued), .sequenceConflict(id: one), .leftOut,
          .sequenceConflict(id: nil),
        ])
      #expect(try await bench.planned.client("device-1")?.lanes.first?.highestSequence == nil)
      #expect(try await bench.planned.client("device-1")?.lanes.first?.lastSequence == 1)
    }
  }

  @Test(
    "one that was parked by a clock that has been set back since has waited long enough",
    arguments: StoreFactory.planned)
  func skipAfterClockWasSetBack(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let right = bench.clock.now
      bench.clock.advance(milliseconds: 315_360_000_000)
      try await bench.accept(bench.draft(sequence: 1))
      let three = try await bench.accept(bench.draft(sequence: 3))
      let lane = try await bench.entry(three).lane
      bench.clock.advance(milliseconds: right.milliseconds(since: bench.clock.now))
      let skip = try await bench.planned.skipGaps(
        of: lane, parkedBy: right.adding(milliseconds: -1), now: right)
      #expect(skip.skipped == [SequenceRange(first: 2, last: 2)])
      #expect(try await numbersInLine(bench) == [1, 3])
    }
  }

  @Test(
    "missing numbers are given up only as far as something has waited for them long enough",
    arguments: StoreFactory.planned)
  func skip(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      try await bench.accept(bench.draft(sequence: 1))
      let three = try await bench.accept(bench.draft(sequence: 3))
      let lane = try await bench.entry(three).lane
      let since = bench.clock.now
      bench.clock.advance(milliseconds: 1000)
      try await bench.accept(bench.draft(sequence: 8))
      let early = try await bench.planned.skipGaps(
        of: lane, parkedBy: since.adding(milliseconds: -1), now: bench.clock.now)
      #expect(early == GapSkip(skipped: [], waitingSince: since))
      let due = try await bench.planned.skipGaps(of: lane, parkedBy: since, now: bench.clock.now)
      #expect(due.skipped == [SequenceRange(first: 2, last: 2)])
      #expect(due.waitingSince == bench.clock.now)
      #expect(try await numbersInLine(bench) == [1, 3])
      try await bench.reopen()
      #expect(try await append(bench.draft(sequence: 2), bench) == .sequencePassed(last: 3))
      guard
        case .parked(_, missing((4, 4))) = try await append(
          bench.draft(sequence: 5), bench)
      else { throw Unexpected(description: "what is waited for is taken") }
      try await bench.accept(bench.draft(sequence: 4))
      let rest = try await bench.planned.skipGaps(
        of: lane, parkedBy: bench.clock.now, now: bench.clock.now)
      #expect(rest.skipped == [SequenceRange(first: 6, last: 7)] && rest.waitingSince == nil)
      #expect(try await numbersInLine(bench) == [1, 3, 4, 5, 8])
      #expect(try await append(bench.draft(sequence: 7), bench) == .sequencePassed(last: 8))
      let nothing = try await bench.planned.skipGaps(
        of: lane, parkedBy: bench.clock.now, now: bench.clock.now)
      #expect(nothing == GapSkip(skipped: [], waitingSince: nil))
    }
  }

  @Test(
    "in a lane that comes in order nothing waits for lower numbers, and one given up is left away",
    arguments: StoreFactory.planned)
  func inOrder(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      func post(_ numbers: Int64...) async throws -> [AppendResult] {
        let drafts = numbers.map { number in
          var draft = bench.draft(sequence: number)
          draft.isInOrder = true
          return draft
        }
        return try await bench.planned.append(drafts, isAtomic: false)
      }
      // One that came on another way waits only for what is behind those that come in order.
      try await bench.accept(bench.draft(sequence: 8))
      for result in try await post(2, 3, 5) {
        guard case .accepted = result else { throw Unexpected(description: "\(result)") }
      }
      #expect(try await numbersInLine(bench) == [2, 3, 5])
      let lane = try #require(try await bench.planned.client("device-1")?.lanes.first)
      #expect(lane.missing == missing((6, 7)))
      guard case .accepted = try await post(4)[0] else {
        throw Unexpected(description: "one whose number was given up is taken")
      }
      try await bench.reopen()
      #expect(try await numbersInLine(bench) == [2, 3, 5, nil])
      #expect(try await append(bench.draft(sequence: 4), bench) == .sequencePassed(last: 5))
      _ = try await post(7)
      #expect(try await numbersInLine(bench) == [2, 3, 5, nil, 7, 8])
      guard case .duplicate = try await post(7)[0] else {
        throw Unexpected(description: "a repeat is one")
      }
    }
  }

  @Test(
    "what a sender said of an envelope is told for as long as it waits",
    arguments: StoreFactory.planned)
  func terms(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let one = try await bench.accept(bench.draft(lane: "log", sequence: 1))
      let two = try await bench.accept(bench.draft(coalesce: "position"))
      let serials = [one.serial, two.serial, two.serial + 9]
      let terms = try await bench.planned.terms(of: serials)
      #expect(
        terms == [
          one.serial: SenderTerms(lane: "log", sequence: 1, tag: "t", coalesce: nil),
          two.serial: SenderTerms(
            lane: "default", sequence: nil, tag: "t", coalesce: "position"),
        ])
      try await bench.record(one, .end(.delivered, reason: ""))
      #expect(try await bench.planned.terms(of: [one.serial]).isEmpty)
    }
  }

  @Test("a number behind a gap that was given up is not in it", arguments: StoreFactory.planned)
  func behindSkippedGap(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let three = try await bench.accept(bench.draft(sequence: 3))
      _ = try await bench.planned.skipGaps(
        of: bench.entry(three).lane, parkedBy: bench.clock.now, now: bench.clock.now)
      try await bench.record(three, .end(.delivered, reason: ""))
      try await deleteAll(bench)
      #expect(try await append(bench.draft(sequence: 2), bench) == .sequencePassed(last: 3))
      #expect(try await append(bench.draft(sequence: 3), bench) == .forgotten)
    }
  }

  private func append(_ draft: EnvelopeDraft, _ bench: Bench) async throws -> AppendResult {
    try await bench.planned.append([draft], isAtomic: false)[0]
  }

  private func parked(_ result: AppendResult) throws -> (EnvelopeID, MissingNumbers) {
    guard case .parked(let id, let missing) = result else {
      throw Unexpected(description: "not parked: \(result)")
    }
    return (id, missing)
  }
}

/// Missing numbers, by the first and the last of each stretch.
func missing(_ ranges: (Int64, Int64)...) -> MissingNumbers {
  MissingNumbers(ranges: ranges.map { SequenceRange(first: $0.0, last: $0.1) }, hasMore: false)
}

func ~= (pattern: MissingNumbers, value: MissingNumbers) -> Bool { pattern == value }

/// The sequence numbers of what stands in the line, in its order; parked ones left out.
func numbersInLine(_ bench: Bench) async throws -> [Int64?] {
  let page = try await bench.planned.line(after: 0, countMax: 10_000)
  let standing = page.entries.filter { $0.standing != .parked }.map(\.serial)
  var numbers: [Int64?] = []
  for serial in standing {
    let id = try #require(try await bench.planned.ids(of: [serial])[serial])
    numbers.append(try await bench.planned.envelope(id)?.draft.sequence)
  }
  return numbers
}

/// Deletes everything that has ended.
func deleteAll(_ bench: Bench) async throws {
  let later = bench.clock.now.adding(milliseconds: 1)
  _ = try await bench.planned.deleteEnded(
    RetentionCutoffs(delivered: later, failed: later), countMax: 100)
}
