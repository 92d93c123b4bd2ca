import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Disk errors", .serialized, .ofFiles)
  struct DiskErrors {
    /// `all` for every call and every error; else a share of them.
    static let isLong = ProcessInfo.processInfo.environment["WAYSTATION_DISK_ERRORS"] == "all"

    private struct Fault {
      let error: Int32
      let calls: DiskShim.Calls
      /// How many calls fail; nil for all until the disk is whole again.
      let count: Int?
    }

    /// No room, a quota, a broken disk, half a write, and bytes that cannot be read.
    private static let faults = [
      Fault(error: ENOSPC, calls: .changes, count: 1),
      Fault(error: EIO, calls: .changes, count: nil),
      Fault(error: ENOSPC, calls: .changes, count: nil),
      Fault(error: EIO, calls: .sync, count: 1),
      Fault(error: EIO, calls: .changes, count: 1),
      Fault(error: EDQUOT, calls: .changes, count: 1),
      Fault(error: 0, calls: .write, count: nil),
      Fault(error: EIO, calls: .read, count: 2),
    ]

    @Test(
      "each call that fails in turn loses nothing acknowledged, and the relay recovers or ends",
      .disabled(if: isLong, "LongDiskErrors does"))
    func everyCall() async throws {
      let disk = try await FailingDisk()
      // One round first, so that what follows meets a store as it usually is.
      _ = try await disk.postSome()
      var injected = 0
      var tried = 0
      var ended = 0
      var refused: [String: Int] = [:]
      for (number, fault) in Self.faults.enumerated() {
        // A post makes few syncs, and each is worth a try.
        let isEach = Self.isLong || fault.calls == .sync
        var index = isEach ? 0 : number
        while index < 400 {
          disk.shim.fail(fault.calls, with: fault.error, after: index, count: fault.count)
          let answers = try await disk.unlessEnded(disk.postSome)
          for (name, _) in answers?.refused ?? [:] { refused[name, default: 0] += 1 }
          if fault.error == ENOSPC || fault.error == EDQUOT {
            #expect(
              answers?.refused["store-unavailable"] == nil,
              "no room is said to be no room: \(index), \(disk.relay.log.suffix(600))")
          }
          let wasMet = disk.shim.injectedCount > 0
          injected += disk.shim.injectedCount
          tried += 1
          disk.shim.heal()
          // The outcome of a delivery may meet the fault after the last answer.
          let isReady: Void? = answers == nil ? nil : try await disk.unlessEnded(disk.isReady)
          if isReady == nil {
            ended += 1
            try await disk.relay.start()
            try await disk.isReady()
          }
          if !wasMet { break }
          index += isEach ? 1 : 11
        }
      }
      #expect(disk.relay.processNumber > 0 && kill(disk.relay.processNumber, 0) == 0)
      #expect(refused["disk-full"] != nil && refused["store-unavailable"] != nil)
      #expect(ended > 0, "a failed sync of the log is among them")
      try await disk.relay.kill()
      try await disk.relay.start()
      try await disk.allArrived()
      print(
        "disk errors: \(tried) rounds, \(injected) calls failed, \(disk.obligationCount) envelopes"
          + " acknowledged, all of them arrived; \(ended) failed syncs of the log; "
          + "refused: \(refused)")
    }

    @Test("a disk that cannot be read for a moment is trouble: nothing is quarantined")
    func unreadableForAMoment() async throws {
      let disk = try await FailingDisk(upstream: try TestUpstream { _ in .answer(503) })
      for _ in 1...100 { #expect(try await disk.post(bytes: 3000).status == 202) }
      // Nothing is in memory after a start.
      try await disk.relay.kill()
      try await disk.relay.start()
      disk.shim.fail(.read, with: EIO, ofPath: ".sqlite3")
      disk.upstream.behave { _ in .answer(200) }
      try await eventually("reads that fail") { disk.shim.injectedCount > 3 ? true : nil }
      disk.shim.heal()
      try await disk.isReady()
      try await disk.allArrived()
      #expect(!disk.relay.log.contains("quarantined"), "\(disk.relay.log.suffix(2000))")
    }

    @Test("a sync of the log that fails ends the relay, and its next start has all that was told")
    func failedSync() async throws {
      let disk = try await FailingDisk(upstream: try TestUpstream { _ in .never })
      #expect(try await disk.post(bytes: 100).status == 202)
      disk.shim.fail(.sync, with: EIO, ofPath: "-wal")
      #expect(try await disk.unlessEnded(disk.postSome) == nil)
      disk.shim.heal()
      disk.upstream.behave { _ in .answer(200) }
      try await disk.relay.start()
      try await disk.isReady()
      #expect(try await disk.post(bytes: 100).status == 202)
      try await disk.allArrived()
      disk.relay.signal(SIGTERM)
      try await disk.relay.ending()
      let check = try await Waystation.run(
        "store", "check", "--data", disk.relay.folder.path + "/data")
      #expect(check.ending == .exit(0), "\(check.output)")
    }

    @Test(
      "a relay that meets an error while it starts says so and ends, or serves",
      .disabled(if: isLong, "LongDiskErrors does"))
    func starting() async throws {
      let disk = try await FailingDisk()
      disk.upstream.behave { _ in .answer(503) }
      _ = try await disk.postSome()
      disk.relay.signal(SIGTERM)
      try await disk.relay.ending()
      var refusals = 0
      for error in [ENOSPC, EIO] {
        var index = 0
        while index < 100 {
          disk.shim.fail(.changes, with: error, after: index, count: nil)
          do {
            try await disk.relay.start()
            disk.shim.heal()
            try await disk.relay.kill()
          } catch let failure as StartFailure {
            #expect(failure.description.contains("cannot"), "\(failure)")
            refusals += 1
          }
          if disk.shim.injectedCount == 0 { break }
          disk.shim.heal()
          index += Self.isLong ? 1 : 13
        }
      }
      #expect(refusals > 0)
      disk.shim.heal()
      disk.upstream.behave { _ in .answer(200) }
      try await disk.relay.start()
      try await disk.allArrived()
      print("disk errors while starting: \(refusals) starts refused, nothing lost")
    }
  }
}
