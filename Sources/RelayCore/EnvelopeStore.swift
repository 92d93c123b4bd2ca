/// Where envelopes are kept: durable, in order, shared by everything else in the relay.
///
/// Every conformance passes the same suite (`Tests/SQLiteStoreTests/Conformance`). All calls may
/// come from any thread. What is read is what was last committed.
package protocol EnvelopeStore: AccessStore, AuditStore, HistoryStore, NameStore,
  OperationStore
{
  /// Starts to take calls, and tells `observer` of every commit from now on.
  ///
  /// - Precondition: called once, before any other call.
  func start(observer: any StoreObserver)

  /// Gives each name its number, for good. The same name always gets the same number.
  ///
  /// An upstream that starts paused (``StartPauses``) is paused the first time that it is so.
  func register(upstreams names: [String]) async throws(StoreError) -> [String: UpstreamNumber]

  /// All upstream names that the store knows, including such as are no longer configured.
  func upstreamNames() async throws(StoreError) -> [UpstreamNumber: String]

  /// Appends envelopes durably, in order, to their clients' lanes.
  ///
  /// Returns only after the transaction has been committed and synced, so an envelope acknowledged
  /// to its sender survives a crash or a power cut.
  ///
  /// - Parameters:
  ///   - drafts: Between 1 and ``Limits/batchCountMax`` envelopes.
  ///   - isAtomic: Whether one that cannot be taken keeps all the others out.
  /// - Returns: One result per draft, in order.
  /// - Throws: ``StoreError`` if nothing was written; retrying is safe.
  func append(
    _ drafts: [EnvelopeDraft], isAtomic: Bool
  ) async throws(StoreError) -> [AppendResult]

  /// Makes changes durable, in the order in which they are handed over.
  ///
  /// Returns at once. The store keeps trying until the changes are committed (a full disk delays
  /// them and loses none), and then tells ``StoreObserver/recorded(_:)``. Only a change that meets
  /// a damaged part of the store is given up, and told by ``StoreObserver/unwritten(_:)``.
  func record(_ transitions: [Transition])

  /// Corrects an envelope that failed, expired or was cancelled, durably: it stays ended, and waits
  /// as it was corrected once it is put back in line.
  ///
  /// - Returns: false if none of this number has ended so, and nothing was changed: it waits again,
  ///   has moved, was delivered, or is not kept any more.
  /// - Throws: ``StoreError`` if nothing was changed.
  func correctEnded(_ edit: EnvelopeEdit) async throws(StoreError) -> Bool

  /// Takes back an envelope that failed or expired, durably: it has been cancelled from now on. One
  /// that was cancelled before stays as it is.
  ///
  /// - Returns: false if none of this number has ended so, and nothing was changed; see
  ///   ``correctEnded(_:)``.
  /// - Throws: ``StoreError`` if nothing was changed.
  func cancelEnded(
    _ entry: LineEntry, reason: String
  ) async throws(StoreError) -> Bool

  /// Cancels all that waits of a client, in one commit, but for what is being delivered.
  ///
  /// What is accepted meanwhile is left alone, and so is what others change just then.
  ///
  /// - Parameters:
  ///   - serial: Up to which number; nil for everything that was accepted before the call.
  /// - Throws: ``StoreError`` if nothing was cancelled.
  func cancelAll(
    of client: ClientNumber, through serial: Serial?, reason: String
  ) async throws(StoreError) -> ClearingReport

  /// The line from its beginning, or from behind `serial`: what waits, in order of acceptance.
  ///
  /// - Parameters:
  ///   - serial: Where to go on; 0 for the beginning.
  ///   - countMax: How many entries at the most.
  func line(after serial: Serial, countMax: Int) async throws(StoreError) -> LinePage

  /// The line backwards, from before `serial`: what waits, the newest first.
  ///
  /// - Parameters:
  ///   - serial: Where to begin; the entry of this number is left out.
  ///   - countMax: How many entries at the most.
  func line(before serial: Serial, countMax: Int) async throws(StoreError) -> LinePage

  /// The entries of the line that have these numbers, in any order. Ones that do not wait are left
  /// out.
  func line(at serials: [Serial]) async throws(StoreError) -> [LineEntry]

  /// All that waits behind `serial`, counted: many times faster than reading it.
  ///
  /// For a start: what is accepted, or ends, meanwhile may be counted or not.
  func lineSummary(after serial: Serial) async throws(StoreError) -> LineSummary

  /// The waiting envelopes of these numbers, in any order. Ones that do not wait are left out.
  func load(_ serials: [Serial]) async throws(StoreError) -> [DeliverableEnvelope]

  /// Everything that is known of one envelope; nil if there is none of this id.
  func envelope(_ id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord?

  /// The id of the envelope that a client posted under a key; nil if there is none.
  func envelope(client: String, key: String) async throws(StoreError) -> EnvelopeID?

  /// The ids of the envelopes of these numbers, for showing. Ones that are not known are left out.
  func ids(of serials: [Serial]) async throws(StoreError) -> [Serial: EnvelopeID]

  /// The upstream's last answer that was kept for this envelope; nil if there is none.
  func response(_ id: EnvelopeID) async throws(StoreError) -> UpstreamResponse?

  /// What has become of the envelopes that another one refers to by their keys, all as of one
  /// moment.
  ///
  /// - Parameter serial: The one that refers to them: its client, its lane and its place count.
  /// - Returns: One for each key.
  func answers(
    to keys: Set<String>, for serial: Serial
  ) async throws(StoreError) -> [String: ReferencedAnswer]

  /// The envelopes that pass a filter, in order of acceptance, found by going on behind `serial`.
  ///
  /// One call does a bounded amount of work, so a page may be short, or empty, though more follows.
  ///
  /// - Parameters:
  ///   - serial: Where to go on; 0 for the beginning.
  ///   - countMax: How many envelopes to return, at the most.
  ///   - looksMax: How many stored envelopes to look at, at the most. A store may stop earlier.
  func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EnvelopePage

  /// What is shown in a list of the envelopes of these ids, in the ids' order. Ones that are not
  /// known are left out.
  func summaries(of ids: [EnvelopeID]) async throws(StoreError) -> [EnvelopeSummary]

  /// What has become of some envelopes, all as of one moment.
  ///
  /// - Returns: One for each reference, in order; nil for what there is none of, or no longer.
  func fates(of references: [EnvelopeReference]) async throws(StoreError) -> [EnvelopeFate?]

  /// What a client is to be told of its envelopes that have ended.
  ///
  /// From a client's first check-in on its endings are kept until it says that it has seen them, or
  /// until their envelopes are deleted. The first one also tells of those that ended lately.
  ///
  /// - Parameters:
  ///   - number: Up to where the client has seen them, by the last page; 0 for nothing. Those are
  ///     forgotten, durably. A number that was never given out counts as 0.
  ///   - countMax: How many endings to return, at the most.
  /// - Returns: nil if nothing of this client was ever accepted.
  func checkIn(
    _ client: String, seenThrough number: EndingNumber, countMax: Int
  ) async throws(StoreError) -> CheckInPage?

  /// What is known of a client; nil if it has never sent anything that was accepted.
  func client(_ name: String) async throws(StoreError) -> ClientRecord?

  /// The names of clients, for showing.
  func clientNames(
    _ numbers: [ClientNumber]
  ) async throws(StoreError) -> [ClientNumber: String]

  /// The names of lanes and of their clients, for showing.
  func laneNames(_ numbers: [LaneNumber]) async throws(StoreError) -> [LaneNumber: LaneName]

  /// How much the store holds; kept up to date with every commit, so that asking costs nothing.
  func statistics() -> StoreStatistics

  /// How the transactions have gone; as cheap to ask.
  var commitFigures: CommitFigures { get }

  /// Why no new envelope would be taken now, as far as is known; nil if that is not so. What was
  /// accepted goes on meanwhile, and a store looks by itself whether there is room again.
  var lackOfRoom: StoreError? { get }

  /// That its files are not in their places any more, of kind `displaced`; looked at now. Nothing
  /// is acknowledged then, what was accepted goes on, and a store goes on by itself once the very
  /// same files are back.
  var displacement: StoreError? { get }

  /// Writes all that it holds, as of one moment, into a folder of another store, which must not be
  /// there, or be empty: also of files that nobody else can open any more.
  func rescue(to folder: String) async throws(StoreError) -> RescueReport

  /// Begins a body that is too large to sit in memory.
  func beginBody() async throws(StoreError) -> any BodyWriter

  /// A piece of a large body of an envelope's.
  ///
  /// - Parameters:
  ///   - offset: Where the piece begins.
  ///   - countMax: How many bytes at the most; only the last piece has fewer.
  /// - Throws: ``StoreError`` if the file is not there any more, since its envelope was deleted.
  func bodyBytes(
    of file: StoredBodyFile, from offset: Int64, countMax: Int
  ) async throws(StoreError) -> [UInt8]

  /// Looks whether a large body that is to be sent is what was written.
  ///
  /// - Throws: ``StoreError`` of kind `corrupt` if it is not; one that was written before there
  ///   were checksums is not looked at.
  func checkBody(in file: StoredBodyFile) async throws(StoreError)

  /// Waiting envelopes whose deadline has passed, found by going on with a walk along the line.
  ///
  /// - Parameter countMax: How many entries of the line to look at, at the most.
  /// - Returns: What was found, and whether the walk came to the end and starts anew.
  func expiredEntries(
    at now: WallTime, countMax: Int
  ) async throws(StoreError) -> ExpiryPage

  /// Gives up the sequence numbers that a lane waits for, as far as an envelope has been parked for
  /// them since this time or longer, durably.
  ///
  /// What is parked behind them moves to the end of the line, in the order of the numbers.
  ///
  /// - Parameter now: What was accepted later than this, by more than a clock is adjusted, was so
  ///   by a clock that has been set back since: it counts as having waited long enough.
  func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) async throws(StoreError) -> GapSkip

  /// Goes on with putting in line what was parked and waits for nothing any more, where an earlier
  /// process was cut off.
  ///
  /// Called once, when the line has been read from its beginning.
  func placeParked() async throws(StoreError)

  /// Deletes envelopes that ended longer ago than they are kept, by going on with a walk along
  /// them.
  ///
  /// - Parameter countMax: How many ended envelopes to look at, at the most: a step that nobody
  ///   feels.
  /// - Returns: How many were deleted, and whether the walk came to the end and starts anew.
  func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int
  ) async throws(StoreError) -> RetentionPage

  /// Forgets clients and lanes that nothing refers to any more, by going on with a walk along them.
  ///
  /// Kept are those of which an envelope, an event or a pause is kept, lanes that have taken
  /// sequence numbers, and those that start paused (``StartPauses``), which may have been resumed.
  /// A name that is used again later gets another number: no number ever comes to stand for another
  /// name. What checks in does so for the first time then.
  ///
  /// - Parameter countMax: How many names to forget, at the most: a step that nobody feels.
  func forgetNames(countMax: Int) async throws(StoreError) -> ForgettingPage

  /// Begins or ends a pause durably.
  ///
  /// A client or a lane that is not known yet is known from then on.
  ///
  /// - Parameter effect: Called with what was meant once that is on disk, in the order of the
  ///   commits, before this returns.
  /// - Returns: The limit that keeps a name from being known, and nothing was changed; else nil.
  @discardableResult
  func setPaused(
    _ isPaused: Bool, _ name: PauseName, effect: @escaping @Sendable (PauseTarget) -> Void
  ) async throws(StoreError) -> QuotaRefusal?

  /// Everything that is paused.
  func pauses() async throws(StoreError) -> Set<PauseTarget>

  /// Logs something that no change of an envelope says.
  ///
  /// Changes of envelopes and pauses are logged by the store itself, in their own transactions.
  func note(_ entry: EventEntry) async throws(StoreError)

  /// What the event log holds.
  func eventLogSpan() async throws(StoreError) -> EventLogSpan

  /// The events behind a place that pass a filter, in the order of the commits.
  ///
  /// One call does a bounded amount of work, so a page may be short, or empty, though more follows.
  ///
  /// - Parameters:
  ///   - position: Where to go on; see ``EventLogSpan``.
  ///   - countMax: How many events to return, at the most.
  ///   - looksMax: How many logged events to look at, roughly at the most.
  func events(
    behind position: EventPosition, _ filter: EventFilter, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EventPage

  /// Forgets the oldest events that were logged before a time. The latest transaction's are kept.
  ///
  /// - Parameter countMax: How many transactions' events to forget, at the most: a step that nobody
  ///   feels.
  /// - Returns: Whether no more are left to be forgotten.
  func forgetEvents(before time: WallTime, countMax: Int) async throws(StoreError) -> Bool

  /// Which shards this relay delivers for.
  func leases() -> [ShardLease]

  /// Finishes what was handed over, and closes. Calls after this throw ``StoreError/Kind/closed``.
  func close() async
}

/// What became of one draft.
package enum AppendResult: Sendable, Equatable {
  /// Stored. `position` is its place in its lane, from 1.
  case accepted(id: EnvelopeID, state: EnvelopeState, position: Int)
  /// The same key, or sequence number, with the same content was stored before, and is this one.
  case duplicate(id: EnvelopeID, state: EnvelopeState)
  /// It has taken the place of the envelope of this id, which waits, and whose former content is
  /// forgotten.
  ///
  /// `position` is its place in its lane, from 1; nil if that is not known.
  case coalesced(id: EnvelopeID, state: EnvelopeState, position: Int?)
  /// The same key was stored before with other content: in the envelope of this id, or, if that is
  /// nil, earlier in the same atomic batch, of which nothing was stored.
  case keyConflict(id: EnvelopeID?)
  /// Stored, and put in line once the sequence numbers before its own have come.
  case parked(id: EnvelopeID, missing: MissingNumbers)
  /// The lane has taken this sequence number before, in an envelope that is not kept any more.
  case forgotten
  /// The lane took this sequence number before with other content: in the envelope of this id, or,
  /// if that is nil, earlier in the same atomic batch, of which nothing was stored.
  case sequenceConflict(id: EnvelopeID?)
  /// The lane has gone on without this sequence number, since others had waited for it long enough.
  /// `last` is the number up to which nothing is waited for.
  case sequencePassed(last: Int64)
  /// Not stored: its client or its lane is not known yet, and as many are as may be.
  case overQuota(QuotaRefusal)
  /// Not stored, since another one of an atomic batch could not be taken.
  case leftOut
}

/// One step of the search for envelopes past their deadline.
package struct ExpiryPage: Sendable {
  /// Entries whose deadline has passed.
  package var expired: [LineEntry]
  /// Whether the walk came to the end of the line.
  package var isRoundDone: Bool
  /// Once a round is done: the earliest deadline of all that was seen and has not passed; nil if
  /// nothing waits.
  package var nextDeadline: WallTime?

  /// Puts a page together.
  package init(expired: [LineEntry], isRoundDone: Bool, nextDeadline: WallTime?) {
    self.expired = expired
    self.isRoundDone = isRoundDone
    self.nextDeadline = nextDeadline
  }
}

/// The right to deliver for one shard of the clients, and to write the outcomes.
package struct ShardLease: Hashable, Sendable {
  /// The shard, from 0 to ``Shard/count`` - 1.
  package var shard: Int
  /// Grows with each change of the holder; a write under an older epoch is refused.
  package var epoch: Int64

  /// Names a shard and an epoch.
  package init(shard: Int, epoch: Int64) {
    self.shard = shard
    self.epoch = epoch
  }
}

/// A large body on its way into the store.
package protocol BodyWriter: Sendable {
  /// Adds bytes at the end.
  func append(_ bytes: [UInt8]) async throws(StoreError)

  /// Syncs the body, so that an envelope may refer to it.
  func finish() async throws(StoreError) -> StoredBodyFile

  /// Throws the body away. Also right after ``finish()``, if no envelope came to refer to it.
  func discard()
}
