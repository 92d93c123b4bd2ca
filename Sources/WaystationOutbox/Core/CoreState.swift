/// What the core knows beside the database.
///
/// A copy of it brings back what was before a transaction that failed.
struct CoreState: Sendable {
  /// All lanes, by number.
  var lanes: [LaneNumber: KeptLane] = [:]
  var laneNumbers: [String: LaneNumber] = [:]
  /// The lanes whose rows are to be written with this transaction.
  var changedLanes: Set<LaneNumber> = []
  /// The number that the next item is given.
  var nextItem: Int64 = 1
  /// Whether somebody wants to know now what has ended.
  var asksForEnds = false
  /// The answers in a row that told only of ends of others, and that there are more.
  var strangeAnswers = 0
  /// No number below it is given again after a restart.
  ///
  /// It is ahead, so that not each transaction has to write it.
  var promisedItem: Int64 = 1
  /// The items that need somebody.
  var attention = 0
  /// The endings that are kept.
  var endings = 0
  /// The number of the device's present start.
  var boot: Int64 = 1

  var isPaused = false
  var sender: Sender
  /// Whether the relay has to be asked before anything is numbered.
  var mustRejoin = false
  /// The lanes in which others have used a number, until the relay has said how far they have come.
  var conflictedLanes: Set<LaneNumber> = []
  /// Whether the relay has to be asked, after a check-in, how all has ended that it has of the
  /// backup from which the device was restored.
  var mustInquire = false
  /// The `since` of the last check-in.
  var since: String?
  /// When the relay has last answered a check-in, by the time since the device's start.
  var checkedInAt: Int64?
  /// How many check-ins the relay has answered since the outbox was opened.
  var checkInCount = 0
  /// The time between two check-ins that somebody waits for, in milliseconds.
  var watchPauseMs = CoreLimits.watchPauseMsMin
  /// What the relay can do, as far as it has said so.
  var features: Set<String> = []
  /// What is known of receipts.
  var custody = CustodyState()
  /// What is known of the device's own signatures.
  var signing: SigningState
  /// How many items the next post may have: fewer after one that was too large, or refused whole.
  var batchItems: Int
  var batchBytes: Int
  /// The lanes of which the relay has taken a number since the outbox was opened.
  var confirmedLanes: Set<LaneNumber> = []
  /// How often in a row an item was given another number, and the relay has taken none.
  var renumberings = 0
  /// The bytes from which on a body is uploaded since no post may be so large, as far as the relay
  /// has said; nil if it has not.
  var uploadsFrom: Int64?
  /// Whether void numbers go in a post of their own.
  var voidsGoAlone = false
  /// Until when items are collected; nil if nothing is.
  var lingerUntil: Int64?
  /// The difference of the relay's clock to the device's, in milliseconds; nil if nobody knows it.
  var wallCorrectionMs: Int64?

  /// The requests that are under way.
  var exchanges: [ExchangeNumber: Underway] = [:]
  var nextExchange: ExchangeNumber = 1
  /// The keys of the items that the relay has changed since the latest of them was begun: what its
  /// answer says of them may be from before.
  var changedMeanwhile: Set<String> = []
  /// The items that are in one of them, or in the post ahead.
  var underwayItems: Set<Int64> = []
  /// The last item of each lane in the post that is under way.
  var underwayThrough: [LaneNumber: Int64] = [:]
  /// The post that goes once the one that is under way was taken; nil if none was put together.
  var ahead: PostAhead?
  /// The request behind which one was looked for last: each time once.
  var lookedBehind: ExchangeNumber = 0
  /// What the app has said of items; forgotten when the outbox is woken.
  var preparations: [Int64: Preparation] = [:]
  /// The item that the app is being asked about.
  var preparing: Int64?
  /// Whether it is to be asked once more, since it was asked before something changed.
  var asksAgain = false
  /// The items whose bodies the disk has failed to read: since when, and until when they wait.
  var unreadable: [Int64: (since: Int64, until: Int64)] = [:]
  /// The lanes that wait after an answer to try again, without a relay: until when.
  var laneWaits: [LaneNumber: LaneWait] = [:]
  /// How much of a body the relay has on its disk, of the items that are being uploaded; an item
  /// that is not here has to be asked about.
  var uploadOffsets: [Int64: Int64] = [:]
  /// Whether the last request was a step of an upload: other items come first then.
  var lastWasUpload = false
  /// How many of the last requests in a row asked for what was signed.
  var proofsInARow = 0
  /// The asking after items of which the relay has told nothing for long.
  var inquiry = Inquiry()
  /// The keys of items that block a lane at the relay, and are over here.
  var givenUp: [String] = []
  /// The relay has more endings to tell.
  var hasMoreEndings = false
  /// When the next thing that was passed over is due, by the time since the device's start.
  var wakeAt: Int64?
  /// Where a look along a lane without strict order goes on, if it was long.
  var walks: [LaneNumber: Int64] = [:]
  /// The lane that was served last, so that the others come first.
  var lastLane: LaneNumber?

  /// Those who wait for what becomes of an item: their number.
  var watchers: [Int64: Int] = [:]
  var runs: [RunNumber: Run] = [:]
  var nextRun: RunNumber = 1

  init(_ sending: Sending) {
    sender = Sender(sending)
    signing = SigningState(sending)
    batchItems = max(1, sending.batchItems)
    batchBytes = max(1, sending.batchBytes)
  }

  /// The items that are not over, and their bytes.
  var total: (items: Int, bytes: Int64) {
    lanes.values.reduce(into: (0, 0)) { sum, lane in
      sum.0 += lane.items
      sum.1 += lane.bytes
    }
  }

  /// The items that the relay has, and that are not over.
  var atRelay: Int { lanes.values.reduce(0) { $0 + $1.items - $1.line } }
}

typealias ExchangeNumber = Int
typealias RunNumber = Int

/// What the app has said of an item.
enum Preparation: Sendable, Equatable {
  /// It may go.
  case ready
  /// It is passed over; until when, by the time since the device's start, nil for until woken.
  case skipped(until: Int64?, SkipReason)
}

/// A lane that waits, without a relay.
struct LaneWait: Sendable {
  var until: Int64
  var backoff: Backoff
}

/// A request that is under way.
enum Underway: Sendable {
  /// Items and void numbers on their way to the relay, and the question of a check-in.
  case sync(items: [Int64], voids: [VoidNumber], lanes: [SyncRequest.LaneQuestion])
  /// The question for the highest numbers, after the device was restored.
  case rejoin
  /// One item on its way to the upstream.
  case direct(item: Int64)
  /// One step of an upload.
  case upload(item: Int64, UploadStep)
  /// The question whether the relay still has an item.
  case inquiry(item: Int64)
  /// The order to give up an item that blocks its lane at the relay, and is over here.
  case giveUp(key: String)
  /// The question for the relay's keys.
  case keys
  /// The question how a lane's numbers have ended, signed.
  case ledger(LaneNumber, numbers: ClosedRange<Int64>)
}

/// Asks the relay after the oldest item that it has of each lane, now and then.
///
/// It tells of each end, but it may have forgotten one by the time the device comes back, and it
/// may have been restored from an older backup.
struct Inquiry: Sendable {
  /// When the next round begins, by the time since the device's start.
  var nextAt: Int64?
  /// The lanes that are still to be asked about in this round, and behind which item.
  var lanes: [(lane: LaneNumber, after: Int64)] = []
  /// Whether it is the round of a restored device, which asks about each item of the backup.
  var isOfRestored = false
  /// What it has found to be over: a check-in may still tell of that, with the upstream's answer.
  var found: [Int64: (kind: EndingKind, number: UInt64?)] = [:]
  /// How many check-ins there had been when such a round was through; nil before.
  var checkInsBefore: Int?
  /// Whether there is something that such a round may have passed by: another one follows.
  var isBehind = false
}

/// The core's own limits.
enum CoreLimits {
  /// How often in a row items are given other numbers at once; after that there is a pause each
  /// time.
  static let renumberingsMax = 3
  /// The answers in a row that tell only of strangers' ends after which it is asked more slowly.
  static let strangeAnswersMax = 16
  /// The time between two questions then, in milliseconds.
  static let strangePauseMs: Int64 = 1000
  /// The numbers of items that are promised ahead: the most that a crash skips.
  static let itemsPromised: Int64 = 256
  /// The shortest and the longest time between two check-ins that somebody waits for, in
  /// milliseconds.
  static let watchPauseMsMin: Int64 = 100
  static let watchPauseMsMax: Int64 = 5000
  /// How often the app may die over one item before it is left alone.
  static let deathsMax: Int64 = 3
  /// The time after which the lines of a post ahead are written anew: they tell ages in seconds, in
  /// milliseconds.
  static let linesStaleMs: Int64 = 1000
  /// The most items of one lane that are looked at for one post, beside those that go.
  static let lookedAtPerLane = 64
  /// The most items of a lane that one transaction looks at and passes over.
  static let passedOverMax = 1024
  /// How long an item waits whose body could not be read, in milliseconds.
  static let unreadablePauseMs: Int64 = 1000
  /// How long a body may not be readable before its item waits for somebody, in milliseconds.
  static let unreadableMsMax: Int64 = 60_000
  /// The most lanes whose numbers one check-in asks about.
  static let askedLanesMax = 100
  /// The most void numbers in one post.
  static let voidsMax = 100
  /// The most items that one transaction lets expire, or counts anew after a start of the device.
  static let expiredPerStep = 500
  /// The time between two rounds of asking after items that the relay has, in milliseconds.
  static let inquiryMs: Int64 = 6 * 3_600_000
  /// A time of day before which no clock can be right, in milliseconds since 1970: 2026-01-01.
  static let plausibleWallMs: Int64 = 1_767_225_600_000
  /// The most lanes that a round asks about.
  static let inquiredLanesMax = 32
  /// The most receipts that are kept of a lane beside those of items that the relay has: the latest
  /// one, and those of chains that ended.
  static let receiptsPerLaneMax: Int64 = 10
  /// The time after which the relay is asked again for a key that it did not show, in milliseconds.
  static let keyPauseMs: Int64 = 3_600_000
  /// The time after which the relay is asked again for what it has not signed, in milliseconds.
  static let proofPauseMs: Int64 = 3_600_000
  /// The most numbers without an item that waits for a signature that are asked about all the same,
  /// so that pages follow on each other: a lane may have kept no evidence for years.
  static let ledgerGapMax: Int64 = 1000
  /// How often the relay is asked for keys by which it has signed pages of one lane, in one round.
  static let keyAsksMax = 3
  /// The most questions in a row for what was signed, while something else is to be sent.
  static let proofsInARowMax = 5
  /// The bytes of a signature in a JWS, by Ed25519 and by P-256.
  static let signatureBytes = 64
  /// The most numbers that were given up, and ranges of them, that one statement tells of: a field
  /// has to be as short as relays and upstreams want it.
  static let toldVoidsMax = 1000
  static let toldVoidRangesMax = 16
  /// The most items of a run.
  static let runItemsMax = 10_000
  /// The longest time between two looks at what is due, in milliseconds.
  static let alarmMsMax: Int64 = 3_600_000
}
