#if PostgreSQL
import Postgres
import RelayCore
import Synchronization

// Pauses.
extension DatabaseWriter {
  /// Pauses or resumes; a name that is not known becomes known, if the limits on names allow it.
  func setPaused(
    _ isPaused: Bool, _ name: PauseName
  ) throws(StoreError) -> Result<PauseTarget, QuotaRefusal> {
    var rows = PostRows()
    var commit = Commit()
    let before = given
    do throws(StoreError) {
      let result = try target(of: name, &rows, in: &commit)
      guard case .success(let target) = result else { return result }
      let wasPaused = rows.paused.contains(target) ? true : try isPausedNow(target)
      if wasPaused != isPaused { rows.log(EventEntry(isPaused: isPaused, target)) }
      try write(
        rows.commands + [.pause(target, isPaused)], shards: rows.shards, logging: rows.events,
        in: &commit)
      let given = given
      shared.figures.withLock { $0.given = given }
      tell(commit)
      return result
    } catch {
      given = before
      throw error
    }
  }

  private func isPausedNow(_ target: PauseTarget) throws(StoreError) -> Bool {
    try read([.findPause(target)])[0].count > 0
  }

  private func target(
    of name: PauseName, _ rows: inout PostRows, in commit: inout Commit
  ) throws(StoreError) -> Result<PauseTarget, QuotaRefusal> {
    switch name {
    case .upstream(let upstream):
      let numbers = try register(upstreams: [upstream], pauses: false)
      guard let number = numbers[upstream] else { throw .invalidRow("no upstream of a name") }
      return .success(.upstream(number))
    case .client(let client):
      let facts = try gather(client: client, lane: nil)
      if let refusal = try NameRules.refusal(ofClient: client, facts: facts) {
        return .failure(refusal)
      }
      return .success(.client(know(client, facts, &rows, in: &commit)))
    case .lane(let lane):
      let facts = try gather(client: lane.client, lane: lane.lane)
      if let known = facts.knownLane(lane) { return .success(.lane(known.number)) }
      var planned = NewNames()
      if let refusal = try NameRules.refusal(ofNew: lane, besides: &planned, facts: facts) {
        return .failure(refusal)
      }
      let client = know(lane.client, facts, &rows, in: &commit)
      let number = given.nextLane
      given.lastLane = number.rawValue
      given.names.lanes += 1
      rows.add(lane: number, lane, of: client)
      startPaused(.lane(lane), .lane(number), &rows, in: &commit)
      return .success(.lane(number))
    }
  }

  private func gather(client: String, lane: String?) throws(StoreError) -> GatheredFacts {
    let draft = EnvelopeDraft(
      client: client, lane: lane ?? "", upstream: "",
      content: EnvelopeContent(method: "", target: [], headers: HeaderBlock(), body: .inline([])),
      expiresAt: WallTime(millisecondsSinceEpoch: 0))
    return try gather(AppendQuestions(of: [draft])) { _, _ in false }.facts
  }

  private func know(
    _ client: String, _ facts: GatheredFacts, _ rows: inout PostRows, in commit: inout Commit
  ) -> ClientNumber {
    if let number = facts.knownClient(client) { return number }
    let number = given.nextClient
    given.lastClient = number.rawValue
    given.names.clients += 1
    rows.add(client: number, client)
    startPaused(.client(client), .client(number), &rows, in: &commit)
    return number
  }
}
#endif
