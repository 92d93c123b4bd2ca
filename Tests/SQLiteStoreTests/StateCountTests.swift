import Foundation
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

/// What the store keeps for each state: a code, and a column of counts in the ledger.
@Suite("SQLite store: states", .timeLimit(.minutes(5)))
struct StateCountTests {
  private static let columns = Standing.columns + EnvelopeState.endColumns

  @Test("codes have no gap, and each state but delivering is stored in one way")
  func codes() throws {
    #expect(Standing.allCases.map { Int($0.rawValue) } == Array(Standing.allCases.indices))
    #expect(EnvelopeState.ends.compactMap(\.endCode) == (1...4).map { Int64($0) })
    let stored = Standing.allCases.map(\.state) + EnvelopeState.ends
    #expect(Set(stored).count == stored.count)
    #expect(Set(stored) == Set(EnvelopeState.allCases).subtracting([.delivering]))
    for end in EnvelopeState.ends {
      #expect(try EnvelopeState(endCode: try #require(end.endCode)) == end)
    }
    let counts = Ledger.Counts(repeating: 0)
    #expect(counts.count >= max(Standing.allCases.count, EnvelopeState.ends.count))
  }

  @Test("the ledger counts each state in its own column")
  func ledger() async throws {
    try await Bench.with { bench in
      await bench.store.close()
      let path = DataFolder.database(in: bench.folder)
      let connection = try Connection(path: path, access: .readWrite)
      var ledger = try Ledger(reading: connection)
      for (place, standing) in Standing.allCases.enumerated() {
        ledger.add(Int64(place + 1), standing: standing)
      }
      for (place, end) in EnvelopeState.ends.enumerated() {
        ledger.add(Int64(place + 11), endCode: try #require(end.endCode))
      }
      (ledger.contentBytes, ledger.lastLane) = (101, 102)
      try ledger.write(to: try Statement(Ledger.update, on: connection))
      let again = try Ledger(reading: connection)
      #expect(again == ledger)
      for (state, count) in ledger.envelopes {
        let stored = try connection.number("SELECT \(state.rawValue) FROM ledger")
        #expect(count > 0 && stored == count, "\(state)")
      }
      #expect(ledger.envelopes.count == Self.columns.count)
    }
  }

  @Test("a check finds a wrong count of each state, and takes no known state for damage")
  func check() async throws {
    try await Bench.with { bench in
      try await bench.accept(bench.draft(hold: true))
      await bench.store.close()
      let path = DataFolder.database(in: bench.folder)
      for column in Self.columns {
        try Connection(path: path, access: .readWrite)
          .execute("UPDATE ledger SET \(column) = \(column) + 1")
        let isSound = try StoreCheck.run(folder: bench.folder).isSound
        #expect(!isSound, "\(column)")
        try Connection(path: path, access: .readWrite)
          .execute("UPDATE ledger SET \(column) = \(column) - 1")
      }
      for standing in Standing.allCases {
        try Connection(path: path, access: .readWrite)
          .execute("UPDATE line SET standing = \(standing.rawValue)")
        let kinds = try StoreCheck.run(folder: bench.folder).findings.map(\.kind)
        #expect(!kinds.contains("unknown-state"), "\(standing)")
      }
    }
  }
}
