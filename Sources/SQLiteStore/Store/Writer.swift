import EventLoop
import RelayCore
import SQLite
import Synchronization

/// The one who writes: takes all that waits into one transaction, commits, and tells everybody.
///
/// Confined to the writer's thread. What it remembers of the database is either in ``state``, which
/// a rollback puts back, or in ``lanes``, ``clients`` and ``chains``, which a rollback forgets.
final class Writer {
  /// The state that the transaction under way has changed and a rollback must restore.
  struct State {
    /// The counts.
    var ledger = Ledger()
    /// Endings that are not yet added up.
    var endedLog = EndedLog()
    /// Events that are not yet written, and how large their log is.
    var events = EventLog()
    /// The backlogs that clients cancelled, yet to be told.
    var cleared: [ClearedBacklog] = []
    /// The ends that are not on record any more as they were, yet to be told.
    var endsChanged: [EndChange] = []
    /// Up to where retention has looked in its present round.
    var retentionCursor: Serial = 0
    /// Upstreams by name: as many as were ever configured.
    var upstreams: [String: UpstreamNumber] = [:]
    /// Greatest sequence numbers that are yet to be written to their lanes.
    var sequences: [LaneNumber: Int64] = [:]
    /// The chains of lanes that the transaction has gone on with.
    var chains = OpenChains()
    /// The last group of receipts; nil if there is none.
    var receiptMark: ReceiptMark?
    /// Counts of the groups of receipts.
    var receiptTally = ReceiptTally()
    /// The clients and upstreams that the transaction paused, since they start so.
    var startedPaused: [PauseTarget] = []
    /// Lanes in which something that was parked may be put in line.
    var flowing: Set<LaneNumber> = []
    /// Whether there may be keys that are remembered longer than their envelopes.
    var remembersKeys = false
    /// The clients that are told of their endings when they check in.
    var checkingIn: Set<ClientNumber> = []
    /// Whether the transaction has forgotten clients.
    var hasForgottenClients = false
    /// By how much the transaction changes what waits of clients.
    var use: [ClientNumber: WaitingUse] = [:]
    /// The known damage.
    var damage = StoreDamage()
    /// The number of envelopes in quarantine, ended ones included.
    var quarantineRows: Int64 = 0
    /// The envelopes that are parked, or ended while they were, and cannot be moved to their place
    /// in line.
    var unmovable: Set<Serial> = []
  }

  let connection: Connection
  let sql: WriterStatements
  let gaps: GapStatements
  let checkIn: CheckInStatements
  let tokens: TokenStatements
  let uploads: UploadStatements
  let audit: AuditStatements
  let history: HistoryStatements
  let operations: OperationStatements
  let search: SearchStatements
  let receipts: ReceiptStatements
  let laneLedger: LaneLedgerStatements
  let rememberedKeys: RememberedKeyStatements
  let shared: StoreShared
  let clock: @Sendable () -> WallTime
  var state = State()
  private(set) var committed = State()
  var lanes = GenerationCache<LaneName, KnownLane>(countMax: StoreTuning.namesCachedMax)
  var clients = GenerationCache<String, ClientNumber>(countMax: StoreTuning.namesCachedMax)
  /// The chains that lanes had last, by which they are not read again.
  var chains = GenerationCache<LaneNumber, StoredChain>(countMax: StoreTuning.namesCachedMax)
  var random = RandomPool()
  /// The search block of the latest envelopes; nil if it is to be read first.
  var searchBlock: OpenSearchBlock?
  /// The start of the last commit.
  private(set) var commitBegin = MonotonicTime(nanoseconds: 0)
  /// The number of parked envelopes that the transaction under way may still put in line.
  var movesLeft = 0
  /// Which of the names that may be forgotten have not been used since they were looked for.
  ///
  /// A rollback puts nothing back: what was about to be used is kept until the next round.
  var nameWatch: NameWatch?
  /// The parts that the transaction under way leaves out.
  var exceptions = Exceptions()
  /// How the transaction under way makes receipts; nil if it makes none.
  var receiptRules: ReceiptRules?
  /// A post such as was refused, by which it is tried out whether any other is; nil if none was.
  var rehearsal: EnvelopeDraft?

  /// The work that lasting damage prevents, so that it is not tried each time.
  var lasting = LastingDamage()

  /// Transitions that are yet to be committed, oldest first.
  var transitions: ArraySlice<Transition> = []
  /// Other work that is yet to be done, oldest first.
  var requests: ArraySlice<WriteRequest> = []
  var recovery = Recovery()
  /// The envelopes that the observer keeps from being attempted for the transaction under way.
  var reservations = Reservations()
  /// The size of a page of the database.
  let pageBytes: Int64
  /// The decisions on when the log is copied.
  var logCopying = LogCopying()
  /// The time to give free pages back to the disk; nil while there are none.
  var giveBackAt: MonotonicTime?
  /// The file that is given up when nothing can be written any more.
  var ballast: Ballast

  /// Opens the writer's connection to a prepared file.
  init(
    database: String, shared: StoreShared, clock: @escaping @Sendable () -> WallTime
  ) throws(StoreError) {
    ballast = Ballast(room: shared.room)
    connection = try Connection(path: database, access: .readWrite)
    try DatabaseFile.configure(connection, cacheKiB: StoreTuning.writerCacheKiB)
    sql = try WriterStatements(on: connection)
    gaps = try GapStatements(on: connection)
    checkIn = try CheckInStatements(on: connection)
    tokens = try TokenStatements(on: connection)
    uploads = try UploadStatements(on: connection)
    audit = try AuditStatements(on: connection)
    history = try HistoryStatements(on: connection)
    operations = try OperationStatements(on: connection)
    search = try SearchStatements(on: connection)
    receipts = try ReceiptStatements(on: connection)
    laneLedger = try LaneLedgerStatements(on: connection)
    rememberedKeys = try RememberedKeyStatements(on: connection)
    pageBytes = try connection.number("PRAGMA page_size")
    self.shared = shared
    self.clock = clock
    state = try State(reading: connection)
    try countQuarantined()
    committed = state
    try addUpEndings()
    publish()
    ballast.hold(room: shared.room)
    considerGivingBack()
    connection.watchLog()
  }

  /// Adds up what a process that was killed has left in the log of endings.
  private func addUpEndings() throws(StoreError) {
    try connection.execute("BEGIN IMMEDIATE")
    do throws(StoreError) {
      try foldEndedLog()
      try connection.execute("COMMIT")
    } catch {
      // A full disk must not keep a relay from starting: who reads adds up the log as well.
      connection.rollBackIfOpen()
      guard error.kind == .diskFull else { throw error }
      state.endedLog.loggedCount = StoreTuning.endedLogEntriesMax
    }
    committed = state
  }

  fileprivate static func upstreams(
    on connection: borrowing Connection
  ) throws(StoreError) -> [String: UpstreamNumber] {
    let names = try Statement("SELECT number, name FROM upstream", on: connection).rows {
      ($0.text(1) ?? "", $0.upstream(0))
    }
    return Dictionary(names) { $1 }
  }

  /// Begins a transaction.
  func begin() throws(StoreError) {
    movesLeft = StoreTuning.movesPerTransactionMax
    try sql.begin.run()
  }

  /// Writes what was gathered in memory, commits, and makes the counts known.
  ///
  /// For what nobody is told of; ``LogSync`` has no part in it.
  func commit() throws(StoreError) {
    try seal()
    try commitSealed()
  }

  /// Commits what ``seal()`` has completed, and makes the counts known.
  ///
  /// It is in the log then, and not yet on the disk.
  func commitSealed() throws(StoreError) {
    commitBegin = MonotonicClock.now()
    connection.logPages = 0
    try sql.commit.run()
    let logPages = connection.logPages
    if logPages > 0 { logCopying.committed(pages: Int64(logPages)) }
    committed = state
    publish()
  }

  /// Undoes everything since ``begin()``, in the database and in memory.
  func rollBack() {
    connection.rollBackIfOpen()
    state = committed
    searchBlock = nil
    forgetNames()
  }

  /// Has it shown that nothing could be written for damage, also once something can be again.
  func noteDamage(_ error: StoreError) {
    guard error.kind == .corrupt else { return }
    committed.damage.last = error.description
    state.damage.last = error.description
  }

  /// Forgets lanes and clients, some of which may have been rolled back.
  func forgetNames() {
    lanes.removeAll()
    clients.removeAll()
    chains.removeAll()
  }

  /// The place behind the events that have been committed.
  var eventsEnd: EventPosition { committed.events.end }

  /// Shows the counts to everybody.
  func publish() {
    let ledger = state.ledger
    let trouble = recovery.trouble
    let lackOfRoom = recovery.lackOfRoom
    let logBytes = logBytes
    let damage = state.damage
    let receipts = state.receiptTally
    shared.figures.withLock { figures in
      figures.lackOfRoom = lackOfRoom
      figures.logBytes = logBytes
      figures.ledger = ledger
      figures.trouble = trouble
      figures.damage = damage
      figures.receipts = receipts
    }
  }
}

extension Writer.State {
  /// Reads the state that a writer begins with.
  ///
  /// - Throws: ``StoreError/Kind/corrupt`` where it makes no sense.
  init(reading connection: borrowing Connection) throws(StoreError) {
    ledger = try Ledger(reading: connection)
    upstreams = try Writer.upstreams(on: connection)
    events = try Writer.eventLog(on: connection)
    checkingIn = try Writer.clientsCheckingIn(on: connection)
    remembersKeys = try connection.number("SELECT EXISTS (SELECT 1 FROM remembered_key)") != 0
    do throws(StoreError) {
      receiptMark = try ReceiptStatements.mark(on: connection)
      receiptTally = ReceiptTally(
        kept: try ReceiptStatements.kept(through: receiptMark?.number, on: connection))
    } catch {
      // Without them everything else goes on.
      guard error.kind == .corrupt else { throw error }
      damage.leftOut.insert(.receipts)
      damage.last = error.description
    }
    try checkEdges(connection)
  }

  /// Looks at the ends of the tables: a file that was cut off, or put together from two states,
  /// shows there.
  private func checkEdges(_ connection: borrowing Connection) throws(StoreError) {
    for table in ["envelope", "line", "ended"] {
      let last = try connection.number("SELECT max(serial) FROM \(table)")
      guard last <= ledger.lastSerial else {
        throw .invalidRow("number \(last), though only \(ledger.lastSerial) were given out")
      }
    }
  }
}
