#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting

// What happens between machines: links that are cut, or on which nothing arrives any more; answers
// that are lost; and a machine that was away, and comes back.
extension ClusterFaults {
  /// A relay that was sent away from the former primary must not go back to it, and one that is
  /// started meanwhile must not stay there.
  mutating func thawPrimary() async throws {
    try await onThread { [database] in try database.freezeWriter() }
    // The relays have given it up when its standby is promoted, or have yet to notice.
    let pause = Int.random(in: 0..<3500, using: &generator)
    try await cluster.rest(milliseconds: pause)
    try await onThread { [database] in try database.promote() }
    if generator.happens(0.7), database.goesOnAlone {
      try await ledger.progress(acknowledgements)
    }
    try await onThread { [database] in try database.thawFormer() }
    if !database.goesOnAlone { try await onThread { [database] in try database.addStandby() } }
    if generator.happens(0.6) {
      let index = Int.random(in: cluster.relays.indices, using: &generator)
      try await killRelay(index)
      try await restart(index)
    }
    try await ledger.progress(2 * acknowledgements)
    // It ends then; with Patroni, once that notices that it has lost its lease.
    try await onThread { [database] in try database.addStandby() }
    try await becomeWhole()
  }

  /// Takes the database from the relay that has the store, until another one has that.
  mutating func loseDatabase(_ lose: (LossyProxy) -> Void) async throws {
    let (index, seat) = try await cluster.holder()
    let links = cluster.databaseLinks[index]
    for link in links { lose(link) }
    defer { for link in links { link.mend() } }
    _ = try await cluster.holder(after: seat)
    try await ledger.progress(Int.random(in: 0..<acknowledgements, using: &generator))
    for link in links { link.mend() }
    try await expect(.exit(1), of: index)
    try await restart(index)
  }

  /// Takes the relay that has the store from the others: they say that they cannot serve, and it
  /// goes on.
  mutating func loseRelays(_ lose: (LossyProxy) -> Void) async throws {
    let (index, seat) = try await cluster.holder()
    guard let spare = spare(beside: index) else { return }
    lose(cluster.relayLinks[index])
    defer { cluster.relayLinks[index].mend() }
    try await cluster.refuses(spare)
    let answer = try await onThread { [cluster] in try cluster.readiness(of: index) }
    guard answer.status == 200 else {
      throw ProtocolViolation(description: "\(seat) can reach the database, and says \(answer)")
    }
    guard try await cluster.seat()?.address == seat.address else {
      throw ProtocolViolation(description: "\(seat) was taken over, and could reach the database")
    }
  }

  /// Takes the standby from the primary, whose commits wait.
  ///
  /// Perhaps it is killed as well. Then the standby has all that was acknowledged.
  mutating func loseStandby(_ lose: (LossyProxy) -> Void) async throws {
    guard let database = database as? PostgresPair else { return }
    let link = database.standbyLink
    lose(link)
    defer { link.mend() }
    let pause = Int.random(in: 500..<4500, using: &generator)
    try await cluster.rest(milliseconds: pause)
    let isLost = generator.happens(0.4)
    if isLost {
      try await onThread { try database.failOver() }
      try await ledger.progress(acknowledgements)
    }
    link.mend()
    if isLost { try await onThread { try database.addStandby() } }
    try await ledger.progress(acknowledgements)
    try await becomeWhole()
  }

  mutating func loseAnswers() async throws {
    let links = cluster.databaseLinks[try await cluster.holder().index]
    let before = links.map(\.losses).reduce(0, +)
    defer { for link in links { link.loseAnswers(0) } }
    for _ in 0..<6 {
      let count = Int.random(in: 1...3, using: &generator)
      for link in links { link.loseAnswers(count) }
      try await ledger.progress(Int.random(in: 1..<acknowledgements, using: &generator))
    }
    guard links.map(\.losses).reduce(0, +) > before else {
      throw ProtocolViolation(description: "no answer was lost")
    }
    for link in links { link.loseAnswers(0) }
    try await becomeWhole()
  }

  /// Waits until one relay has the store, and starts those again that have lost it.
  func becomeWhole() async throws {
    let holder = try await cluster.holder().index
    for index in cluster.relays.indices where index != holder && cluster.hasHeld(index) {
      try await expect(.exit(1), of: index)
      try await restart(index)
    }
  }
}
#endif
