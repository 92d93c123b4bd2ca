import Foundation
import Glibc
import RelayCore
import Testing

extension EndToEnd {
  @Suite("Power cuts", .serialized, .ofFiles)
  struct PowerCuts {
    /// How many disks are looked at; `all` for five at each moment that matters, and one at others.
    static let wanted = ProcessInfo.processInfo.environment["WAYSTATION_POWER_CUTS"]
    static let seed =
      ProcessInfo.processInfo.environment["WAYSTATION_TEST_SEED"].flatMap { UInt64($0) } ?? 20260401

    @Test(
      "whatever a power cut leaves on the disk, what was told still holds",
      .disabled(if: wanted != nil, "LongPowerCuts does"))
    func anyMoment() async throws {
      let workload = try PowerCutWorkload()
      try await workload.run()
      let events = try DiskEvent.all(in: workload.shim.journal)
      try checkRecord(events, workload)
      let cuts = Self.cuts(events)
      var losses: [String] = []
      var tried = 0
      var model = DiskModel(root: workload.relay.folder.path)
      var facts = PowerCutFacts()
      var generator = SeededGenerator(seed: Self.seed)
      for (index, event) in events.enumerated() {
        for fate in cuts[index] ?? [] {
          tried += 1
          let keys = workload.keys
          if let loss = try await look(model, fate, facts, keys, &generator) {
            losses.append("before event \(index) of \(events.count), \(fate): \(loss)")
          }
        }
        // An answer is noted before it leaves: at its own moment nobody has seen it yet.
        model.apply(event)
        facts.take(event)
      }
      print(
        "power cuts: \(events.count) events, \(facts.answerCount) answers,"
          + " \(facts.accepted.count) envelopes acknowledged, \(tried) disks tried,"
          + " \(losses.count) losses (seed \(Self.seed))")
      #expect(losses.isEmpty, "\(losses.prefix(5).joined(separator: "\n"))")
      #expect(facts.accepted.count > 100 && facts.startCount == 3)
      #expect(facts.isCleared && facts.corrected.count == 1 && facts.pauseCount == 2)
      #expect(facts.uploads.values.sorted() == [6000, 8000])
      #expect(facts.version == 5 && facts.toldThrough.row > 0 && facts.ended.count > 10)
    }

    /// Which disks are looked at, by the number of the event that does not take place any more.
    private static func cuts(_ events: [DiskEvent]) -> [Int: [DiskModel.Fate]] {
      var generator = SeededGenerator(seed: seed)
      // Around syncs and answers something becomes certain, or has to be.
      let edges = events.indices.filter {
        events[$0].kind == .sync || events[$0].kind == .send
          || ($0 > 0 && (events[$0 - 1].kind == .sync || events[$0 - 1].kind == .send))
      }
      var cuts: [Int: [DiskModel.Fate]] = [:]
      if wanted == "all" {
        for index in edges { cuts[index] = [.lost, .kept, .torn, .torn, .namesLost] }
        for index in events.indices where cuts[index] == nil { cuts[index] = [.torn] }
        return cuts
      }
      let count = wanted.flatMap { Int($0) } ?? 120
      for number in 0..<count {
        let isEdge = number % 3 != 2
        let index =
          isEdge
          ? edges.randomElement(using: &generator) ?? 0
          : Int.random(in: events.indices, using: &generator)
        cuts[index, default: []].append(DiskModel.Fate.allCases[number % 4])
      }
      return cuts
    }

    /// What is lost on a disk; nil if nothing is.
    private func look(
      _ model: DiskModel, _ fate: DiskModel.Fate, _ facts: PowerCutFacts,
      _ keys: [String: String], _ generator: inout SeededGenerator
    ) async throws -> String? {
      let folder = Self.folder()
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      try model.write(fate, to: folder, generator: &generator)
      do {
        try await PowerCutImage(data: folder + "/data", facts: facts, keys: keys).check()
        return nil
      } catch {
        return "\(error)"
      }
    }

    /// In memory where that can be: the disks are looked at, and thrown away.
    private static func folder() -> String {
      let memory = "/dev/shm"
      let base = access(memory, W_OK) == 0 ? memory + "/" : NSTemporaryDirectory()
      return base + "waystation-cut-\(UUID().uuidString.lowercased())"
    }

    /// What was recorded is what the relay left: else nothing that follows would mean anything.
    private func checkRecord(_ events: [DiskEvent], _ workload: PowerCutWorkload) throws {
      var model = DiskModel(root: workload.relay.folder.path)
      for event in events { model.apply(event) }
      let folder = Self.folder()
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      var generator = SeededGenerator(seed: 1)
      try model.write(.kept, to: folder, generator: &generator)
      let real = workload.relay.folder.path + "/data"
      let names = try FileManager.default.subpathsOfDirectory(atPath: real).sorted()
      #expect(
        try FileManager.default.subpathsOfDirectory(atPath: folder + "/data").sorted() == names)
      for name in names {
        #expect(
          FileManager.default.contents(atPath: "\(real)/\(name)")
            == FileManager.default.contents(atPath: "\(folder)/data/\(name)"), "\(name)")
      }
    }
  }
}
