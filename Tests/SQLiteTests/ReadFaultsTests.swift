import Testing

@testable import SQLite

@Suite("Reads that fail")
struct ReadFaultsTests {
  /// Whether a place counts as damaged, once it could not be read.
  private static func isDamaged(
    _ number: Int, in faults: inout ReadFaults, atMs nowMs: Int64
  ) -> Bool {
    faults.readFailed(at: place(number), nowMs: nowMs)
  }

  private static func place(_ number: Int) -> ReadFaults.Place {
    ReadFaults.Place(device: 1, file: 2, offset: Int64(number) * 4096)
  }

  @Test("a place that cannot be read is damaged once that has lasted, and not before")
  func lasting() {
    var faults = ReadFaults()
    let verdicts = (0...30).map { Self.isDamaged(1, in: &faults, atMs: $0 * 1000) }
    #expect(verdicts.firstIndex(of: true) == 30)
    #expect(ReadFaults.patienceMs == 30_000)
  }

  @Test("a place that could be read in between begins anew")
  func healed() {
    var faults = ReadFaults()
    _ = Self.isDamaged(1, in: &faults, atMs: 0)
    faults.readSucceeded(at: Self.place(1))
    #expect(faults.isEmpty)
    let times = [ReadFaults.patienceMs, 2 * ReadFaults.patienceMs - 1, 2 * ReadFaults.patienceMs]
    let verdicts = times.map { Self.isDamaged(1, in: &faults, atMs: $0) }
    #expect(verdicts == [false, false, true])
  }

  @Test("a place that nobody has read for long begins anew")
  func forgotten() {
    var faults = ReadFaults()
    let again = ReadFaults.memoryMs + 1
    let verdicts = [0, again, again + ReadFaults.patienceMs].map {
      Self.isDamaged(1, in: &faults, atMs: $0)
    }
    #expect(verdicts == [false, false, true])
  }

  @Test("where many places fail the disk is away, and none of them is damaged")
  func away() {
    var faults = ReadFaults()
    for nowMs in stride(from: Int64(0), through: 600_000, by: 10_000) {
      let verdicts = (0...ReadFaults.damagedPlacesMax).map {
        Self.isDamaged($0, in: &faults, atMs: nowMs)
      }
      // In the first round they come one by one, and none has lasted yet.
      #expect(!verdicts.contains(true))
    }
    for number in 1...ReadFaults.damagedPlacesMax { faults.readSucceeded(at: Self.place(number)) }
    let isDamaged = Self.isDamaged(0, in: &faults, atMs: 600_001)
    #expect(isDamaged, "it alone stays unreadable")
  }

  @Test("no more places are remembered than a limit")
  func bounded() {
    var faults = ReadFaults()
    for number in 0..<10_000 { _ = Self.isDamaged(number, in: &faults, atMs: 0) }
    for number in 0..<ReadFaults.placesMax { faults.readSucceeded(at: Self.place(number)) }
    #expect(faults.isEmpty)
  }
}
