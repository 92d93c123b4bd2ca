import RelayCore
import Testing

@Suite("The log of events")
struct EventLogTests {
  private static func log(_ entries: [EventEntry]) -> [EventLog.Row] {
    var log = EventLog()
    for entry in entries { log.append(entry) }
    let rows = log.takeRows()
    return rows.map { log.add(row: $0) }
  }

  @Test("every part of an entry is read as it was written, and a row that is cut off is told")
  func entries() throws {
    let full = EventEntry(
      .unreachable, serial: 1 << 39, client: ClientNumber(rawValue: 7),
      lane: LaneNumber(rawValue: 300), upstream: UpstreamNumber(rawValue: 2), standing: .held,
      attempt: 64, status: 503, dueAt: WallTime(millisecondsSinceEpoch: 1_800_000_000_000),
      numbers: [3, -4], reason: "no route")
    let wanted = [full, EventEntry(.started), EventEntry(.accepted, serial: 1, standing: .queued)]
    let rows = Self.log(wanted)
    #expect(rows.count == 1)
    var read: [EventEntry] = []
    try EventEntries.forEach(in: rows[0].entries) { read.append($0) }
    #expect(read == wanted)
    let error = #expect(throws: StoreError.self) {
      try EventEntries.forEach(in: rows[0].entries.dropLast()) { _ in }
    }
    #expect(error?.kind == .corrupt)
  }

  @Test("rows are numbered without a gap, and tell the bytes of all")
  func numbers() {
    let rows = Self.log((1...4000).map { EventEntry(.accepted, serial: 1_000_000 + $0) })
    #expect(rows.count > 1 && rows.map(\.number) == Array(1...Int64(rows.count)))
    var bytes: Int64 = 0
    for row in rows {
      bytes += Int64(row.entries.count) + EventLog.rowOverheadBytes
      #expect(row.bytesThrough == bytes)
    }
  }

  @Test("rows are forgotten up to the first that stays, and up to the bytes of a step")
  func forgetting() {
    var log = EventLog()
    log.lastRow = 9
    var step = EventForgetting(log, bytesMax: 1000)
    #expect(step.isDone)
    var goesOn = step.take(1, bytesThrough: 100, isTooOld: true)
    #expect(goesOn && !step.isDone)
    goesOn = step.take(2, bytesThrough: 200, isTooOld: false)
    #expect(!goesOn && step.isDone)
    #expect(step.last?.number == 1 && step.last?.bytesThrough == 100)
    log.bytesForgotten = 100
    step = EventForgetting(log, bytesMax: 1000)
    goesOn = step.take(2, bytesThrough: 1099, isTooOld: true)
    #expect(goesOn)
    goesOn = step.take(3, bytesThrough: 1100, isTooOld: true)
    #expect(!goesOn && !step.isDone)
    step = EventForgetting(log, bytesMax: 1000)
    goesOn = step.take(8, bytesThrough: 200, isTooOld: true)
    #expect(goesOn && step.isDone)
  }

  @Test("a walk that ends within a row goes on behind the last entry that it looked at")
  func walk() throws {
    let rows = Self.log((1...5).map { EventEntry(.accepted, serial: $0) })
    var position = EventPosition(row: 1, index: 0)
    var found: [EnvelopeID?] = []
    var hasMore = true
    while hasMore {
      var walk = EventWalk(
        behind: position, EventFilter(), places: [1, 2, 4], upstreams: [:], countMax: 2,
        looksMax: 3)
      hasMore = try !walk.take(
        row: 1, at: WallTime(millisecondsSinceEpoch: 0), rows[0].entries
      ) { _ in (nil, nil) }
      let ids = walk.envelopes.subtracting([4]).map {
        ($0, EnvelopeID(serial: $0, acceptedAt: WallTime(millisecondsSinceEpoch: 0), random: 0))
      }
      let page = walk.page(Dictionary(uniqueKeysWithValues: ids), hasMore: hasMore)
      found += page.events.map(\.id)
      #expect(page.next > position)
      position = page.next
    }
    // The fourth is not kept any more; no other one is asked for.
    #expect(found.count == 3 && found.map { $0 != nil } == [true, true, false])
    #expect(position == EventPosition(row: 2, index: 0))
  }
}
