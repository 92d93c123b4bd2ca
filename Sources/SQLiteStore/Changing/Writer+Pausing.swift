import RelayCore
import SQLite

extension Writer {
  /// Begins or ends a pause; no effect if it is so already.
  ///
  /// - Returns: The target, or the limit that keeps its name from becoming known.
  func setPaused(
    _ isPaused: Bool, _ name: PauseName
  ) throws(StoreError) -> Result<PauseTarget, QuotaRefusal> {
    if let refusal = try refusal(of: name) { return .failure(refusal) }
    let target = try target(of: name)
    try setPaused(isPaused, target)
    return .success(target)
  }

  private func refusal(of name: PauseName) throws(StoreError) -> QuotaRefusal? {
    switch name {
    case .upstream: return nil
    case .client(let client): return try NameRules.refusal(ofClient: client, facts: self)
    case .lane(let lane):
      guard try knownLane(lane) == nil else { return nil }
      var planned = NewNames()
      return try NameRules.refusal(ofNew: lane, besides: &planned, facts: self)
    }
  }

  private func setPaused(_ isPaused: Bool, _ target: PauseTarget) throws(StoreError) {
    if isPaused {
      try sql.insertPause.run(target.kind.code, target.number)
    } else {
      try sql.deletePause.run(target.kind.code, target.number)
    }
    if connection.changeCount > 0 { log(EventEntry(isPaused: isPaused, target)) }
  }

  /// Pauses a client or lane that becomes known in this transaction, if it starts paused.
  func startPaused(_ name: PauseName, _ target: PauseTarget) throws(StoreError) {
    guard shared.startsPaused(name) else { return }
    try setPaused(true, target)
    state.startedPaused.append(target)
  }

  /// The number of a configured upstream, which is paused if it starts paused and never has before.
  func registerUpstream(_ name: String) throws(StoreError) -> UpstreamNumber {
    let number = try upstreamNumber(name)
    guard shared.startsPaused(.upstream(name)) else { return number }
    try sql.markStartPaused.run(number)
    if connection.changeCount > 0 { try startPaused(.upstream(name), .upstream(number)) }
    return number
  }

  private func target(of name: PauseName) throws(StoreError) -> PauseTarget {
    switch name {
    case .upstream(let upstream): .upstream(try upstreamNumber(upstream))
    case .client(let client): .client(try rememberClient(client))
    case .lane(let lane): .lane(try rememberLane(lane))
    }
  }
}
