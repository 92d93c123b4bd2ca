import RelayCore
import Synchronization
import Testing

/// What every store promises of pauses.
@Suite("conformance: pauses", .timeLimit(.minutes(1)))
struct PauseConformance {
  @Test("a pause is there after a restart, until it is ended", arguments: StoreFactory.all)
  func survives(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let names: [PauseName] = [
        .upstream("default"), .client("device-9"),
        .lane(LaneName(client: "device-9", lane: "photos")),
      ]
      for name in names { try await bench.store.setPaused(true, name) { _ in } }
      try await bench.store.setPaused(true, names[1]) { _ in }
      let paused = try await bench.store.pauses()
      #expect(paused.count == 3)
      try await bench.reopen()
      #expect(try await bench.store.pauses() == paused)
      for name in names { try await bench.store.setPaused(false, name) { _ in } }
      #expect(try await bench.store.pauses().isEmpty)
    }
  }

  @Test(
    "what a pause means is told once it is on disk, and is what envelopes are filed under",
    arguments: StoreFactory.all)
  func told(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let told = Mutex<PauseTarget?>(nil)
      let lane = LaneName(client: "device-1", lane: "default")
      try await bench.store.setPaused(true, .lane(lane)) { target in
        told.withLock { $0 = target }
      }
      let id = try await bench.accept(bench.draft())
      let record = try #require(try await bench.store.envelope(id))
      #expect(told.withLock { $0 } == .lane(record.lane))
    }
  }
}
