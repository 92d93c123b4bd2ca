/// A store of envelopes: durable, in order, and shared by everything else in the relay.
///
/// Every conformance passes the same suite (`Tests/SQLiteStoreTests/Conformance`). All calls may
/// come from any thread. Reads see the last commit.
package protocol EnvelopeStore: AccessStore, AuditStore, HistoryStore, NameStore, ReceiptStore,
  OperationStore, UploadStore
{
  /// Starts to take calls, and tells `observer` of every commit from then on.
  ///
  /// - Precondition: called once, before any other call.
  func start(observer: any StoreObserver)

  /// Gives each name its number, for good: the same name always gets the same number.
  ///
  /// An upstream that starts paused (``StartPauses``) is paused when it is first registered so.
  func register(upstreams names: [String]) async throws(StoreError) -> [String: UpstreamNumber]

  /// All upstream names that the store knows, including those no longer configured.
  func upstreamNames() async throws(StoreError) -> [UpstreamNumber: String]

  /// Appends envelopes durably, in order, to their clients' lanes.
  ///
  /// Returns only after the transaction has been committed and synced, so an envelope acknowledged
  /// to its sender survives a crash or a power cut.
  ///
  /// - Parameters:
  ///   - drafts: Between 1 and `limits.batchCountMax` envelopes.
  ///   - isAtomic: Whether one that cannot be taken keeps all others out.
  /// - Returns: One result per draft, in order.
  /// - Throws: ``StoreError`` if nothing was written; retrying is safe.
  func append(
    _ drafts: [EnvelopeDraft], isAtomic: Bool
  ) async throws(StoreError) -> [AppendResult]

  /// Makes changes durable, in the order in which they are handed over.
  ///
  /// Returns at once. The store retries until the changes are committed (a full disk delays them
  /// and loses none), and then calls ``Commit/Change/changed(_:)``. Only a change that meets a
  /// damaged part of the store is given up, and reported by ``Commit/Change/unwritten(_:)``.
  func record(_ transitions: [Transition])

  /// Corrects an envelope that failed, expired or was cancelled, durably. It stays ended; if it is
  /// requeued, it waits as corrected.
  ///
  /// - Returns: false if no envelope of this number has ended so: it waits again, has moved, was
  ///   delivered, or is not kept any more. Nothing is changed then.
  /// - Throws: ``StoreError`` if nothing was changed.
  func correctEnded(_ edit: EnvelopeEdit) async throws(StoreError) -> Bool

  /// Cancels an envelope that failed or expired, durably. One that was cancelled before stays as it
  /// is.
  ///
  /// - Returns: false if no envelope of this number has ended so; nothing is changed then. See
  ///   ``correctEnded(_:)``.
  /// - Throws: ``StoreError`` if nothing was changed.
  func cancelEnded(
    _ entry: LineEntry, reason: String
  ) async throws(StoreError) -> Bool

  /// Cancels everything that waits of a client, or a part of it, in one commit, except what is
  /// being delivered.
  ///
  /// Envelopes that are accepted or changed meanwhile are left alone.
  ///
  /// - Parameters:
  ///   - serial: The number up to which to cancel; nil for everything that was accepted before the
  ///     call.
  /// - Throws: ``StoreError`` if nothing was cancelled.
  func cancelAll(
    of selection: BacklogSelection, through serial: Serial?, reason: String
  ) async throws(StoreError) -> ClearingReport

  /// Reads the line from its beginning, or after `serial`: the waiting envelopes, in order of
  /// acceptance.
  ///
  /// - Parameters:
  ///   - serial: The number after which to go on; 0 for the beginning.
  ///   - countMax: The most entries to return.
  func line(after serial: Serial, countMax: Int) async throws(StoreError) -> LinePage

  /// Reads the line backwards, before `serial`: the waiting envelopes, the newest first.
  ///
  /// - Parameters:
  ///   - serial: The number before which to begin.
  ///   - countMax: The most entries to return.
  func line(before serial: Serial, countMax: Int) async throws(StoreError) -> LinePage

  /// The line's entries of these numbers, in any order. Those that do not wait are left out.
  func line(at serials: [Serial]) async throws(StoreError) -> [LineEntry]

  /// Counts the line after `serial`: many times faster than reading it.
  ///
  /// For a start: an envelope that is accepted or ends meanwhile may be counted or not.
  func lineSummary(after serial: Serial) async throws(StoreError) -> LineSummary

  /// The waiting envelopes of these numbers, in any order. Those that do not wait are left out.
  func load(_ serials: [Serial]) async throws(StoreError) -> [DeliverableEnvelope]

  /// What the senders of the waiting envelopes of these numbers said of them.
  ///
  /// Those that do not wait are left out.
  func terms(of serials: [Serial]) async throws(StoreError) -> [Serial: SenderTerms]

  /// The number that an envelope of this id was accepted under, whether or not there is one.
  ///
  /// Reads nothing: ids tell their numbers to the store that gave them out, and to nobody else. An
  /// envelope that was parked has another number once it has moved.
  func serial(in id: EnvelopeID) -> Serial

  /// Everything that is known of one envelope; nil if there is none of this id.
  func envelope(_ id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord?

  /// The id of the envelope that a client posted under a key; nil if there is none.
  func envelope(client: String, key: String) async throws(StoreError) -> EnvelopeID?

  /// The ids of the envelopes of these numbers, for display. Unknown ones are left out.
  func ids(of serials: [Serial]) async throws(StoreError) -> [Serial: EnvelopeID]

  /// The upstream's last answer that was kept for this envelope; nil if there is none.
  func response(_ id: EnvelopeID) async throws(StoreError) -> UpstreamResponse?

  /// The answers to earlier envelopes that another one refers to by their keys, all as of one
  /// moment.
  ///
  /// - Parameter serial: The envelope that refers to them; its client, its lane and its place
  ///   count.
  /// - Returns: One answer for each key.
  func answers(
    to keys: Set<String>, for serial: Serial
  ) async throws(StoreError) -> [String: ReferencedAnswer]

  /// The envelopes after `serial` that pass a filter, in order of acceptance.
  ///
  /// One call does a bounded amount of work, so a page may be short or empty though more follows.
  ///
  /// - Parameters:
  ///   - serial: The number after which to go on; 0 for the beginning.
  ///   - countMax: The most envelopes to return.
  ///   - looksMax: The most stored envelopes to look at. A store may stop earlier.
  func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EnvelopePage

  /// The summaries of the envelopes of these ids, in the ids' order. Unknown ones are left out.
  func summaries(of ids: [EnvelopeID]) async throws(StoreError) -> [EnvelopeSummary]

  /// The states of some envelopes, all as of one moment.
  ///
  /// - Returns: One for each reference, in order; nil if there is none, or none any more.
  func fates(of references: [EnvelopeReference]) async throws(StoreError) -> [EnvelopeFate?]

  /// The endings that a client has yet to be told of.
  ///
  /// From a client's first check-in on, its endings are kept until it says that it has seen them,
  /// or until their envelopes are deleted. The first check-in also tells of those that ended
  /// lately.
  ///
  /// - Parameters:
  ///   - number: The number up to which the client has seen endings, by the last page; 0 for none.
  ///     Those are forgotten, durably. A number that was never given out counts as 0.
  ///   - countMax: The most endings to return.
  /// - Returns: nil if nothing of this client was ever accepted.
  func checkIn(
    _ client: String, seenThrough number: EndingNumber, countMax: Int
  ) async throws(StoreError) -> CheckInPage?

  /// The record of a client; nil if none of its envelopes was ever accepted.
  func client(_ name: String) async throws(StoreError) -> ClientRecord?

  /// The names of clients, for display.
  func clientNames(
    _ numbers: [ClientNumber]
  ) async throws(StoreError) -> [ClientNumber: String]

  /// The names of lanes and of their clients, for display.
  func laneNames(_ numbers: [LaneNumber]) async throws(StoreError) -> [LaneNumber: LaneName]

  /// The present figures of the store; kept up to date with every commit, so that asking costs
  /// nothing.
  func statistics() -> StoreStatistics

  /// Figures on the transactions; as cheap to ask.
  var commitFigures: CommitFigures { get }

  /// Begins a body that is too large to be kept in memory.
  func beginBody() async throws(StoreError) -> any BodyWriter

  /// A piece of an envelope's large body.
  ///
  /// - Parameters:
  ///   - offset: The offset at which the piece begins.
  ///   - countMax: The most bytes to return; only the last piece has fewer.
  /// - Throws: ``StoreError`` if the file is gone, since its envelope was deleted.
  func bodyBytes(
    of file: StoredBodyFile, from offset: Int64, countMax: Int
  ) async throws(StoreError) -> [UInt8]

  /// Checks that a large body that is to be sent is as it was written.
  ///
  /// - Throws: ``StoreError`` of kind `corrupt` if it is not. A body that was written before there
  ///   were checksums is not checked.
  func checkBody(in file: StoredBodyFile) async throws(StoreError)

  /// Finds waiting envelopes whose deadline has passed, by continuing a walk along the line.
  ///
  /// - Parameter countMax: The most entries of the line to look at.
  /// - Returns: The entries found, and whether the walk has reached the end and starts over.
  func expiredEntries(
    at now: WallTime, countMax: Int
  ) async throws(StoreError) -> ExpiryPage

  /// Gives up, durably, the sequence numbers that a lane waits for, as far as an envelope has been
  /// parked for them since `time` or longer.
  ///
  /// Envelopes parked behind them move to the end of the line, in the order of their numbers.
  ///
  /// - Parameter now: The present time. An envelope accepted later than this, by more than a clock
  ///   is adjusted, was accepted by a clock that has been set back since: it counts as having
  ///   waited long enough.
  func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) async throws(StoreError) -> GapSkip

  /// Continues to put parked envelopes that wait for nothing any more in line, where an earlier
  /// process was cut off.
  ///
  /// Called once, when the line has been read from its beginning.
  func placeParked() async throws(StoreError)

  /// Forgets keys that were remembered long enough; once there are none, deletes envelopes that
  /// ended before the cutoffs, by continuing a walk along the ended ones.
  ///
  /// - Parameter countMax: The most keys to forget and the most ended envelopes to look at, so that
  ///   a step is short.
  /// - Returns: The number deleted, and whether the walk has reached the end and starts over.
  func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int
  ) async throws(StoreError) -> RetentionPage

  /// Forgets clients and lanes that nothing refers to any more, by continuing a walk along them.
  ///
  /// A name is kept while an envelope, an event or a pause of it is kept. Lanes that have taken
  /// sequence numbers are kept too, and so are names that start paused (``StartPauses``), which may
  /// have been resumed. A forgotten name that is used again gets another number: no number ever
  /// stands for a second name. A forgotten client's next check-in counts as its first.
  ///
  /// - Parameter countMax: The most names to forget, so that a step is short.
  func forgetNames(countMax: Int) async throws(StoreError) -> ForgettingPage

  /// Begins or ends a pause durably.
  ///
  /// A client or a lane that is not known yet becomes known by this.
  ///
  /// - Parameter effect: Called with the target once the change is on disk, in the order of the
  ///   commits, before this returns.
  /// - Returns: The limit that keeps the name from becoming known, so that nothing was changed;
  ///   else nil.
  @discardableResult
  func setPaused(
    _ isPaused: Bool, _ name: PauseName, effect: @escaping @Sendable (PauseTarget) -> Void
  ) async throws(StoreError) -> QuotaRefusal?

  /// Everything that is paused.
  func pauses() async throws(StoreError) -> Set<PauseTarget>

  /// Logs an event that belongs to no change of an envelope.
  ///
  /// Changes of envelopes and pauses are logged by the store itself, in their own transactions.
  func note(_ entry: EventEntry) async throws(StoreError)

  /// The extent of the event log.
  func eventLogSpan() async throws(StoreError) -> EventLogSpan

  /// The events after a position that pass a filter, in the order of the commits.
  ///
  /// One call does a bounded amount of work, so a page may be short or empty though more follows.
  ///
  /// - Parameters:
  ///   - position: The position after which to go on; see ``EventLogSpan``.
  ///   - countMax: The most events to return.
  ///   - looksMax: The most logged events to look at, roughly.
  func events(
    behind position: EventPosition, _ filter: EventFilter, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EventPage

  /// Deletes the oldest events that were logged before a time. The latest transaction's events are
  /// kept.
  ///
  /// - Parameter countMax: The most transactions whose events to delete, so that a step is short.
  /// - Returns: Whether none are left to delete.
  func forgetEvents(before time: WallTime, countMax: Int) async throws(StoreError) -> Bool

  /// The shards that this relay delivers for.
  func leases() -> [ShardLease]

  /// Whether attempts may begin now: whether no other relay can have taken the store.
  ///
  /// Always, where nobody else could; so cheap that it is asked before each attempt.
  var mayAttempt: Bool { get }

  /// Waits no longer for a database that cannot be reached: whoever waits for it is told so.
  ///
  /// Called when the relay ends, shortly before what is left is cut off. What the database answers
  /// is finished all the same.
  ///
  /// - Returns: Why it is not to be reached; nil if nothing is waited for.
  func giveUpWaiting() -> String?

  /// Finishes the work that was handed over, and closes. Later calls throw
  /// ``StoreError/Kind/closed``.
  func close() async
}

extension EnvelopeStore {
  /// A store that one relay alone can have.
  package var mayAttempt: Bool { true }

  /// A store on this machine waits for nobody.
  package func giveUpWaiting() -> String? { nil }
}

/// The result for one draft.
package enum AppendResult: Sendable, Equatable {
  /// Stored. `position` is its position in its lane, from 1.
  case accepted(id: EnvelopeID, state: EnvelopeState, position: Int)
  /// The same key or sequence number was stored before with the same content, in this envelope.
  case duplicate(id: EnvelopeID, state: EnvelopeState)
  /// The content has replaced that of the waiting envelope of this id, whose former content is
  /// forgotten.
  ///
  /// `position` is its position in its lane, from 1; nil if that is not known.
  case coalesced(id: EnvelopeID, state: EnvelopeState, position: Int?)
  /// The same key was stored before with other content, in the envelope of this id. A nil id means
  /// earlier in the same atomic batch, of which nothing was stored, or in an envelope that is not
  /// kept any more.
  case keyConflict(id: EnvelopeID?)
  /// Stored, and put in line once the sequence numbers before its own have come.
  case parked(id: EnvelopeID, missing: MissingNumbers)
  /// The sequence number counts as come from now on, and no envelope will have it.
  case void
  /// The lane took this sequence number, or the client posted this key with the same content, in an
  /// envelope that is not kept any more; or, for a void number, it counts as come already.
  case forgotten
  /// The lane took this sequence number before with other content, in the envelope of this id. A
  /// nil id means earlier in the same atomic batch, of which nothing was stored.
  case sequenceConflict(id: EnvelopeID?)
  /// The lane has gone on without this sequence number, since others had waited for it long enough.
  /// `last` is the number up to which nothing is waited for.
  case sequencePassed(last: Int64)
  /// Not stored: its client or its lane is not known yet, and the limit on names is reached.
  case overQuota(QuotaRefusal)
  /// Not stored, since another draft of an atomic batch could not be taken.
  case leftOut
}

/// The result of one step of the search for envelopes past their deadline.
package struct ExpiryPage: Sendable {
  /// Entries whose deadline has passed.
  package var expired: [LineEntry]
  /// Whether the walk reached the end of the line.
  package var isRoundDone: Bool
  /// Once a round is done: the earliest deadline of all entries seen that has not passed; nil if
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
  /// The epoch, which grows with each change of the holder; a write under an older epoch is
  /// refused.
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

  /// Deletes the body; also after ``finish()``, if no envelope refers to it.
  func discard()
}
