import EventLoop
import RelayCore
import Testing

@testable import RelayServer

@Suite("Who gives way where memory is short")
struct RequestMemoryTests {
  private let begin = MonotonicTime(nanoseconds: 1_000_000_000)

  private static func holder(_ source: UInt32, _ client: String? = nil) -> RequestMemory.Holder {
    RequestMemory.Holder(source: PlaceSource(address: source), client: client)
  }

  /// A memory of a thousand bytes, all of them held by ten bodies of one holder.
  private func full(of holder: RequestMemory.Holder) -> RequestMemory {
    var memory = RequestMemory()
    for _ in 0..<10 { _ = memory.begin(holder, bytes: 100, now: begin) }
    return memory
  }

  private func cut(
    _ memory: inout RequestMemory, for holder: RequestMemory.Holder, _ bytes: Int,
    afterMs: Int64 = 0, claim: RequestMemory.ClaimID? = nil
  ) -> [RequestMemory.ClaimID] {
    let want = RequestMemory.Want(holder: holder, bytes: bytes, claim: claim)
    return memory.makeRoom(
      for: want, lack: bytes, of: 1000, now: begin.adding(milliseconds: afterMs)
    ).map(\.id)
  }

  @Test("a source that holds more than its share gives way to another, as much as that needs")
  func sources() {
    var memory = full(of: Self.holder(1))
    #expect(cut(&memory, for: Self.holder(2), 250).count == 3)
    #expect(memory.claimCount == 7)
    #expect(memory.bytesOfSource[PlaceSource(address: 1)] == 700)
  }

  @Test("a client that holds more than its share gives way to another behind the same address")
  func clients() {
    var memory = full(of: Self.holder(1, "greedy"))
    #expect(cut(&memory, for: Self.holder(1, "modest"), 100).count == 1)
    #expect(memory.bytesOfClient["greedy"] == 900)
  }

  @Test("a client that comes from many addresses gives way all the same")
  func scatteredClient() {
    var memory = RequestMemory()
    for source in 1...10 {
      _ = memory.begin(Self.holder(UInt32(source), "greedy"), bytes: 100, now: begin)
    }
    #expect(cut(&memory, for: Self.holder(99, "modest"), 100).count == 1)
  }

  @Test("who asks for more than its own share has nobody cut off, be it alone")
  func greed() {
    var memory = full(of: Self.holder(1))
    #expect(cut(&memory, for: Self.holder(2), 501).isEmpty)
    #expect(cut(&memory, for: Self.holder(1), 1).isEmpty)
    #expect(memory.claimCount == 10)
    #expect(cut(&memory, for: Self.holder(2), 500).count == 5)
  }

  @Test("a quarter is nobody's more than a share, however many hold some")
  func quarter() {
    var memory = RequestMemory()
    for source in 1...4 {
      _ = memory.begin(Self.holder(UInt32(source), "c\(source)"), bytes: 250, now: begin)
    }
    #expect(cut(&memory, for: Self.holder(9, "c9"), 10).isEmpty)
    var other = RequestMemory()
    _ = other.begin(Self.holder(1, "c1"), bytes: 251, now: begin)
    for source in 2...8 {
      _ = other.begin(Self.holder(UInt32(source), "c\(source)"), bytes: 107, now: begin)
    }
    #expect(cut(&other, for: Self.holder(9, "c9"), 10) == [1])
  }

  @Test("a whole body is not cut off any more, and what was cut off cannot go on")
  func whole() {
    var memory = RequestMemory()
    let whole = memory.begin(Self.holder(1), bytes: 900, now: begin)
    let half = memory.begin(Self.holder(1), bytes: 100, now: begin)
    #expect(memory.hasArrived(whole) == true)
    #expect(cut(&memory, for: Self.holder(2), 100) == [half])
    #expect(cut(&memory, for: Self.holder(2), 100).isEmpty)
    #expect(memory.progress(half, came: 1, held: 1, now: begin) == false)
    #expect(memory.hasArrived(half) == false)
    #expect(memory.end(half) == nil)
    #expect(memory.end(whole) == 900)
    #expect(memory.bytesOfSource.isEmpty && memory.bytesOfClient.isEmpty)
  }

  @Test("slow bodies give way to anybody, the slowest first, once they have had their time")
  func slowness() {
    var memory = RequestMemory()
    let same = Self.holder(1)
    // At 5, 4 and 3 bytes a second, what they hold takes 20, 25 and 33 seconds to come.
    let claims = (0..<3).map { _ in memory.begin(same, bytes: 0, now: begin) }
    for second in 0..<20 {
      let now = begin.adding(milliseconds: Int64(second) * 1000)
      for (index, claim) in claims.enumerated() {
        #expect(memory.progress(claim, came: 5 - index, held: 5, now: now) == true)
      }
    }
    #expect(cut(&memory, for: same, 100, afterMs: 19_999) == [claims[2]])
    #expect(cut(&memory, for: same, 100, afterMs: 19_999) == [claims[1]])
    #expect(cut(&memory, for: same, 100, afterMs: 19_999).isEmpty)
    var young = full(of: same)
    #expect(cut(&young, for: same, 100, afterMs: 4999).isEmpty)
    #expect(cut(&young, for: same, 100, afterMs: 5100) == [1])
  }

  @Test("a body that came fast and then drips is slow within ten seconds")
  func dripping() {
    var memory = RequestMemory()
    let claim = memory.begin(Self.holder(1), bytes: 0, now: begin)
    #expect(memory.progress(claim, came: 200_000, held: 200_000, now: begin) == true)
    let later = begin.adding(milliseconds: 9000)
    #expect(memory.progress(claim, came: 1100, held: 1100, now: later) == true)
    #expect(cut(&memory, for: Self.holder(1), 100, afterMs: 9999).isEmpty)
    #expect(cut(&memory, for: Self.holder(1), 100, afterMs: 10_100) == [claim])
  }

  @Test("who is slow itself has nobody cut off for being slow")
  func slowAsker() {
    var memory = full(of: Self.holder(1))
    #expect(cut(&memory, for: Self.holder(1), 100, afterMs: 30_000, claim: 3).isEmpty)
    #expect(cut(&memory, for: Self.holder(1), 100, afterMs: 30_200) == [1])
  }

  @Test(
    "the slow ones of who holds too much go first, then slow ones of others, then its fast ones")
  func order() {
    var memory = RequestMemory()
    let fast = memory.begin(Self.holder(1), bytes: 600, now: begin)
    let slow = memory.begin(Self.holder(1), bytes: 200, now: begin)
    let modest = memory.begin(Self.holder(2), bytes: 100, now: begin)
    let now = begin.adding(milliseconds: 6000)
    #expect(memory.progress(fast, came: 600, held: 0, now: now) == true)
    #expect(memory.progress(slow, came: 1, held: 0, now: now) == true)
    let all = cut(&memory, for: Self.holder(3), 250, afterMs: 6000)
    #expect(all == [slow, modest])
    #expect(cut(&memory, for: Self.holder(3), 250, afterMs: 6000) == [fast])
  }

  // MARK: Against a model

  /// What a model knows of a claim: everything that came, and when.
  private struct Known {
    let holder: RequestMemory.Holder
    let begin: MonotonicTime
    var bytes: Int
    var isArriving = true
    var arrivals: [(at: MonotonicTime, count: Int)] = []

    func isSlow(_ now: MonotonicTime) -> Bool {
      let age = now.milliseconds(since: begin)
      guard age >= 5000 else { return false }
      let start = begin.adding(milliseconds: (age / 5000 - 1) * 5000)
      let recent = arrivals.reduce(0) { $1.at >= start ? $0 + $1.count : $0 }
      return Double(bytes) * Double(now.milliseconds(since: start)) > 20_000 * Double(recent)
    }
  }

  @Test("whatever happens, only those go who may, and no more than have to", arguments: 1...30)
  func model(seed: Int) {
    var random = Steps(seed: UInt64(seed))
    var memory = RequestMemory()
    var known: [RequestMemory.ClaimID: Known] = [:]
    var now = begin
    var cutCount = 0
    let bytesMax = 100_000
    for _ in 0..<3000 {
      now = now.adding(milliseconds: Int64.random(in: 0...400, using: &random))
      let holder = Self.holder(
        UInt32.random(in: 1...4, using: &random),
        [nil, "a", "b", "c"].randomElement(using: &random) ?? nil)
      let id = known.keys.sorted().randomElement(using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0, 1, 2:
        let bytes = Int.random(in: 1...3000, using: &random)
        known[memory.begin(holder, bytes: bytes, now: now)] = Known(
          holder: holder, begin: now, bytes: bytes)
      case 3, 4, 5:
        guard let id else { continue }
        let came = Int.random(in: 0...2000, using: &random)
        #expect(memory.progress(id, came: came, held: came, now: now) == true)
        known[id]?.arrivals.append((now, came))
        known[id]?.bytes += came
      case 6:
        guard let id else { continue }
        #expect(memory.hasArrived(id) == true)
        known[id]?.isArriving = false
      case 7:
        guard let id else { continue }
        let bytes = known.removeValue(forKey: id)?.bytes
        #expect(memory.end(id) == bytes)
      default:
        let bytes = Int.random(in: 1...30_000, using: &random)
        let want = RequestMemory.Want(holder: holder, bytes: bytes)
        let all = judge(want, &memory, known, bytesMax, now)
        for id in all { known[id] = nil }
        cutCount += all.count
      }
      expectSums(memory, known)
    }
    #expect(cutCount > 20, "nothing was tried")
  }

  /// Has room made, and holds who goes against what the model knows.
  private func judge(
    _ want: RequestMemory.Want, _ memory: inout RequestMemory,
    _ known: [RequestMemory.ClaimID: Known], _ bytesMax: Int, _ now: MonotonicTime
  ) -> [RequestMemory.ClaimID] {
    func held(_ isOne: (RequestMemory.Holder) -> Bool) -> Int {
      known.values.reduce(0) { isOne($1.holder) ? $0 + $1.bytes : $0 }
    }
    let holders = known.values.filter { $0.bytes > 0 }.map(\.holder) + [want.holder]
    let ofSource = bytesMax / min(4, Set(holders.map(\.source)).count)
    let ofClient = bytesMax / min(4, Set(holders.map(\.client)).count)
    func isOver(_ one: RequestMemory.Holder) -> Bool {
      let bySource =
        one.source != want.holder.source && held { $0.source == one.source } > ofSource
        && held { $0.source == want.holder.source } + want.bytes <= ofSource
      let byClient =
        one.client != want.holder.client && held { $0.client == one.client } > ofClient
        && held { $0.client == want.holder.client } + want.bytes <= ofClient
      return bySource || byClient
    }
    let over = known.filter { $0.value.isArriving && isOver($0.value.holder) }
    let cut = memory.makeRoom(for: want, lack: want.bytes, of: bytesMax, now: now)
    let freed = cut.reduce(0) { $0 + $1.bytes }
    if cut.isEmpty {
      #expect(over.values.reduce(0) { $0 + $1.bytes } < want.bytes)
    } else {
      #expect(freed >= want.bytes)
      #expect(freed - (cut.last?.bytes ?? 0) < want.bytes)
    }
    for (id, bytes) in cut {
      guard let claim = known[id] else { Issue.record("nobody's claim"); continue }
      #expect(claim.isArriving && claim.bytes == bytes)
      #expect(claim.isSlow(now) || over[id] != nil)
    }
    if cut.contains(where: { known[$0.id]?.isSlow(now) == false }) {
      let spared = over.filter { id, claim in claim.isSlow(now) && !cut.contains { $0.id == id } }
      #expect(spared.isEmpty)
    }
    return cut.map(\.id)
  }

  private func expectSums(_ memory: RequestMemory, _ known: [RequestMemory.ClaimID: Known]) {
    var bySource: [PlaceSource?: Int] = [:]
    var byClient: [String?: Int] = [:]
    for claim in known.values where claim.bytes > 0 {
      bySource[claim.holder.source, default: 0] += claim.bytes
      byClient[claim.holder.client, default: 0] += claim.bytes
    }
    #expect(memory.claimCount == known.count)
    #expect(memory.bytesOfSource == bySource)
    #expect(memory.bytesOfClient == byClient)
  }

  /// SplitMix64: each seed is a run that can be repeated.
  private struct Steps: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
      return mixed ^ mixed >> 31
    }
  }
}
