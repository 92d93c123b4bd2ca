import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.SplitMix64

// How it ends, and whether it is right then.
extension Simulation {
  /// Lets everything come to its end: what is held is released, what is refused is mended.
  func settle() throws {
    for round in 0..<Self.stepsMax {
      guard let core else { return }
      if core.state.total.items == 0 { return }
      for item in try core.file.items(after: 0, countMax: 1000) {
        let id = Item.ID(raw: item.id)
        if item.state == .held { try transact { core in _ = try core.release(id) } }
        if item.state.needsAttention { try mend(item) }
        if lies, round > Self.stepsMax / 2, try core.isUnproven(item) { try giveUp(item) }
      }
      // At first somebody waits; then only what the device does by itself is left.
      try transact { core in core.state.watchers[-1] = round < 100 ? 1 : nil }
      for _ in 0..<10 { try step() }
    }
  }

  /// A relay that has lied does not sign for all that has ended: somebody waits for it no more.
  private func giveUp(_ item: KeptItem) throws {
    let id = Item.ID(raw: item.id)
    try transact { core in _ = try core.cancel(id) }
    told[item.id]?.isGivenUp = true
  }

  func mend(_ item: KeptItem) throws {
    var atRelay: (String, RelayChange)?
    try transact { core in
      var changing = try core.resolve(
        Item.ID(raw: item.id), retry: goodRequest(), discard: nil, at: moment)
      if case .failed(.signed) = changing {
        // The right one would be handed over under another key.
        changing = try core.resolve(Item.ID(raw: item.id), retry: nil, discard: "no", at: moment)
        told[item.id]?.isGivenUp = true
      }
      if case .relay(let key, let change) = changing { atRelay = (key, change) }
    }
    if let (key, change) = atRelay {
      guard askRelay(key, change) else { return }
      try transact { core in try core.changedAtRelay(key, change, at: moment) }
    }
    told[item.id]?.isRefused = false
  }

  /// The most rounds after which everything has to be over.
  static let stepsMax = 400

  /// What does not hold; empty if everything does.
  func violations() throws -> [String] {
    guard let core else { return ["closed"] }
    broken += scheduled?.violations ?? []
    if !broken.isEmpty { return broken }
    var found: [String] = []
    for item in try core.file.items(after: 0, countMax: 100) {
      found.append("item \(item.id) of \(core.name(of: item.lane)) is still \(item.state)")
    }
    if !found.isEmpty { return [standstill] + found }
    for envelope in relay.delivered where envelope.body.contains(Self.changedByte) {
      found.append("\(envelope.key) was changed on the disk, and sent")
    }
    var sent: [String: Int] = [:]
    for envelope in relay.delivered { sent[envelope.key, default: 0] += 1 }
    for item in told.values.sorted(by: { $0.number < $1.number }) {
      let count = sent[item.key] ?? 0
      guard let ending = try core.file.ending(item.number) else {
        found.append("nobody knows how item \(item.number) has ended")
        continue
      }
      if !isProven(item, ending) {
        found.append("item \(item.number) is said to be \(ending.kind), and nobody has signed it")
      }
      if count > 1, !wasRestored { found.append("item \(item.number) was sent \(count) times") }
      switch ending.kind {
      case .delivered where count == 0:
        found.append("item \(item.number) is said to be delivered, and was not")
      case .cancelled where !item.isGivenUp && ending.error?.id != "coalesced":
        found.append("item \(item.number) was cancelled by nobody")
      case .refused where !item.isRefused && !item.isGivenUp && !wasRestored:
        found.append(
          "item \(item.number) of \(item.lane) was refused, and nobody had refused it: "
            + "\(ending.error?.message ?? "")")
      case .unknown where !wasRestored:
        found.append(
          "nobody knows what became of item \(item.number), \(item.lane) "
            + "\(ending.sequence ?? 0): \(ending.error?.id ?? "")")
      case .expired: found.append("item \(item.number) has expired")
      default: break
      }
    }
    return try found + disorder() + unsigned()
  }

  /// Whether the relay has signed how an item has ended that it was to sign.
  private func isProven(_ item: Told, _ ending: KeptEnding) -> Bool {
    guard settings.lane(item.lane).evidence, !item.isGivenUp else { return true }
    let evidence = try? core?.evidence(Item.ID(raw: item.number))
    switch evidence?.ending?.state {
    case .delivered: return ending.kind == .delivered
    case .failed: return ending.kind == .refused
    case .cancelled: return ending.kind == .cancelled
    case .expired: return ending.kind == .expired
    // It was over here before the relay had it.
    case nil: return ending.kind == .cancelled || item.isRefused
    }
  }

  /// What the core waits for, in words.
  var standstill: String {
    guard let state = core?.state else { return "closed" }
    return "at \(nowMs): \(queue.count) due, \(state.exchanges), wait \(state.sender.wait as Any) "
      + "until \(state.sender.waitUntil as Any), signed out \(state.sender.isSignedOut), "
      + "preparing \(state.preparing as Any), rejoin \(state.mustRejoin)"
  }

  /// Items of a strict lane that came before earlier ones.
  func disorder() -> [String] {
    var found: [String] = []
    let numbers = Dictionary(uniqueKeysWithValues: told.values.map { ($0.key, $0) })
    for lane in ["block", "skip"] {
      var last: Int64 = 0
      var seen: Set<String> = []
      for envelope in relay.delivered where envelope.lane == lane {
        guard seen.insert(envelope.key).inserted, let item = numbers[envelope.key] else { continue }
        // A relay that was put back to a backup delivers what was taken back since then.
        if wasRestored, item.isGivenUp { continue }
        // Nobody has waited for one that was mended later.
        if lane == "skip", item.isChanged { continue }
        if item.number < last { found.append("item \(item.number) of \(lane) came after \(last)") }
        last = max(last, item.number)
      }
    }
    return found
  }

  func below(_ bound: Int64) -> Int64 { Int64(random.next() % UInt64(max(1, bound))) }
  func chance(_ percent: Int) -> Bool { below(100) < Int64(percent) }
}
