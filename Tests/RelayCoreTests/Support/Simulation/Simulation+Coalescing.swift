import RelayCore

// Posts that take the place of what waits. Between the question whether they may and the commit, or
// its failure, anything else may happen.
extension Simulation {
  /// A replacement that is about to be committed.
  struct Replacement: Sendable {
    var serial: Serial
    var terms: LineEntry
    var device: Int
    var key: Int
    var content: Int
  }

  /// Begins to put a post in the place of the last one of its name.
  ///
  /// - Returns: false if a new envelope is to follow.
  mutating func coalesce(
    _ terms: LineEntry, _ name: Int, device: Int, key: Int, content: Int
  ) -> Bool {
    guard store.serial(of: key, terms.client) == nil,
      let serial = store.waiting(name, in: terms.lane)
    else { return false }
    if reserved.contains(serial) || clearing.contains(terms.client) {
      // A store has one transaction at a time: this one comes after the other.
      agenda.insert(
        Scheduled(
          life: life, event: .commitAppend(device: device, key: key, content: content)),
        at: commitTime())
      return true
    }
    guard !store[serial].entry.isInDoubt, scheduler.reserve(serial, in: terms.lane) else {
      return false
    }
    reserved.insert(serial)
    let replacement = Replacement(
      serial: serial, terms: terms, device: device, key: key, content: content)
    agenda.insert(
      Scheduled(
        life: life,
        event: .commitReplacement(
          replacement, isRolledBack: Int.random(in: 0..<5, using: &random) == 0)),
      at: commitTime())
    return true
  }

  /// The commit of a replacement, or its failure.
  mutating func replace(_ replacement: Replacement, isRolledBack: Bool) {
    let record = store[replacement.serial]
    reserved.remove(replacement.serial)
    if record.end != nil { violate("\(replacement.serial) ended while it was reserved") }
    guard !isRolledBack else {
      scheduler.released(replacement.serial, in: record.entry.lane, now: clock)
      return
    }
    for index in upstreams.indices { upstreams[index].forget(replacement.serial) }
    let terms = replacement.terms
    let draft = EnvelopeDraft(
      client: "c", lane: "l", upstream: "u",
      content: EnvelopeContent(
        method: "POST", target: [0x2F], headers: HeaderBlock(), body: .inline([])),
      hold: terms.standing == .held, notBefore: terms.dueAt, expiresAt: terms.expiresAt,
      onFailure: terms.onFailure)
    let (entry, keepsBackoff) = record.entry.replaced(
      by: draft, to: terms.upstream, formerNotBefore: record.notBefore)
    store.replace(
      entry, key: replacement.key, content: replacement.content, notBefore: terms.dueAt)
    _ = scheduler.coalesced(
      CoalescedEnvelope(
        entry: entry, id: EnvelopeID(serial: entry.serial, acceptedAt: clock.wall, random: 1),
        draft: draft, revision: 1, formerUpstream: record.entry.upstream,
        keepsBackoff: keepsBackoff),
      now: clock)
    coalescedCount += 1
    acknowledge(replacement.device, replacement.key, replacement.serial)
  }
}
