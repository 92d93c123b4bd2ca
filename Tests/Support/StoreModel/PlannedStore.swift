import RelayCore

/// The part of ``EnvelopeStore`` whose rules are plans (`RelayCore/Planning`): posts, changes,
/// ends, pauses, and looking at what came of them.
///
/// See ``EnvelopeStore`` for what each function promises.
package protocol PlannedStore: Sendable {
  func start(observer: any StoreObserver)
  func register(upstreams names: [String]) async throws(StoreError) -> [String: UpstreamNumber]
  func upstreamNames() async throws(StoreError) -> [UpstreamNumber: String]
  func append(
    _ drafts: [EnvelopeDraft], isAtomic: Bool
  ) async throws(StoreError) -> [AppendResult]
  func record(_ transitions: [Transition])
  func correctEnded(_ edit: EnvelopeEdit) async throws(StoreError) -> Bool
  func cancelEnded(_ entry: LineEntry, reason: String) async throws(StoreError) -> Bool
  func cancelAll(
    of selection: BacklogSelection, through serial: Serial?, reason: String
  ) async throws(StoreError) -> ClearingReport
  func line(after serial: Serial, countMax: Int) async throws(StoreError) -> LinePage
  func line(before serial: Serial, countMax: Int) async throws(StoreError) -> LinePage
  func line(at serials: [Serial]) async throws(StoreError) -> [LineEntry]
  func load(_ serials: [Serial]) async throws(StoreError) -> [DeliverableEnvelope]
  func envelope(_ id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord?
  func terms(of serials: [Serial]) async throws(StoreError) -> [Serial: SenderTerms]
  func envelope(client: String, key: String) async throws(StoreError) -> EnvelopeID?
  func ids(of serials: [Serial]) async throws(StoreError) -> [Serial: EnvelopeID]
  func response(_ id: EnvelopeID) async throws(StoreError) -> UpstreamResponse?
  func client(_ name: String) async throws(StoreError) -> ClientRecord?
  func clientNames(
    _ numbers: [ClientNumber]
  ) async throws(StoreError) -> [ClientNumber: String]
  func laneNames(_ numbers: [LaneNumber]) async throws(StoreError) -> [LaneNumber: LaneName]
  func statistics() -> StoreStatistics
  func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) async throws(StoreError) -> GapSkip
  func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int
  ) async throws(StoreError) -> RetentionPage
  @discardableResult
  func setPaused(
    _ isPaused: Bool, _ name: PauseName, effect: @escaping @Sendable (PauseTarget) -> Void
  ) async throws(StoreError) -> QuotaRefusal?
  func pauses() async throws(StoreError) -> Set<PauseTarget>
  func leases() -> [ShardLease]
  func close() async
}
