import RelayCore

extension EndpointContext {
  /// Lanes that stand until someone resolves them, with what is known of their heads; those whose
  /// heads cannot be read are left out.
  func blockedLanes(
    _ lanes: [(lane: LaneNumber, head: LineEntry)]
  ) async throws(StoreError) -> [LaneNumber: StatusView.BlockedLane] {
    guard !lanes.isEmpty else { return [:] }
    let names = try await store.laneNames(lanes.map(\.lane))
    let ids = try await store.ids(of: lanes.map(\.head.serial))
    var blocked: [LaneNumber: StatusView.BlockedLane] = [:]
    for lane in lanes {
      guard let name = names[lane.lane], let id = ids[lane.head.serial],
        let record = try await readableRecord(of: id)
      else { continue }
      blocked[lane.lane] = StatusView.BlockedLane(
        name: name, envelope: id,
        since: record.lastAttemptEndedAt,
        reason: record.reason ?? reason(of: record))
    }
    return blocked
  }

  /// Those of these envelopes that block their lanes still; of the first of them with what the
  /// upstream says of the mistake, and since when.
  func blockedEnvelopes(_ ids: [EnvelopeID]) async throws(StoreError) -> [BlockedEnvelope] {
    guard !ids.isEmpty else { return [] }
    var blocked: [BlockedEnvelope] = []
    for summary in try await store.summaries(of: ids) where summary.fate.state == .blocked {
      var envelope = BlockedEnvelope(summary)
      if blocked.count < BlockedEnvelope.detailedMax {
        envelope.error = await upstreamError(of: summary.id, .blocked)
        envelope.blockedAt = try await readableRecord(of: summary.id)?.lastAttemptEndedAt
      }
      blocked.append(envelope)
    }
    return blocked
  }

  /// Why a lane stands of which the store knows no reason.
  private func reason(of head: EnvelopeRecord) -> String {
    head.state == .blocked
      ? BlockedEnvelope.unknownReason
      : "the store is damaged, and what became of it cannot be written; stands until the next start"
  }

  /// An envelope; nil also for one that cannot be read, which must not hide all the others.
  private func readableRecord(of id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord? {
    do throws(StoreError) {
      return try await store.envelope(id)
    } catch {
      guard error.kind == .corrupt else { throw error }
      return nil
    }
  }
}

extension EnvelopeRecord {
  /// When its last attempt had ended, since when it blocks its lane if it does; nil if there was
  /// none.
  fileprivate var lastAttemptEndedAt: WallTime? {
    attempts.last.map { $0.startedAt.adding(milliseconds: $0.durationMs) }
  }
}
