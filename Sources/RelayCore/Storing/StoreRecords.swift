/// Everything that the store knows of one envelope.
package struct EnvelopeRecord: Sendable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The sender's post, as it stands now.
  package var draft: EnvelopeDraft
  /// Its state; never ``EnvelopeState/delivering``, which only the dispatcher knows.
  package var state: EnvelopeState
  /// The reason why it ended or stands, in words; nil if there is none.
  package var reason: String?
  /// Its place in the line; for an envelope that has ended, the one that a requeue would give it.
  package var entry: LineEntry
  /// The time when it ended; nil if it has not.
  package var endedAt: WallTime?
  /// The number of recorded attempts.
  package var attemptCount: Int32
  /// The latest attempts, oldest first; at most ``StoreLimits/attemptsKeptMax``.
  package var attempts: [AttemptRecord]
  /// The status of the kept answer; nil if there is none.
  package var responseStatus: Int?
  /// The sequence numbers that a parked envelope waits for.
  package var missing = MissingNumbers.none
  /// The number of times that a later post's content has replaced its own.
  package var revision: Int64 = 0
  /// The stored ``Checksum`` of what was accepted; nil if there is none.
  package var checksum: Int64?
  /// Whether the posted content cannot be read: ``draft`` then holds only what else is known.
  package var isUnreadable = false

  /// The lane that it stands or stood in.
  package var lane: LaneNumber { entry.lane }
  /// The time of its next attempt; nil if nothing keeps it, or it has ended.
  package var dueAt: WallTime? { state.isEnd ? nil : entry.dueAt }

  /// Puts a record together; see the properties for what each part means.
  package init(
    id: EnvelopeID, draft: EnvelopeDraft, state: EnvelopeState, reason: String?, entry: LineEntry,
    endedAt: WallTime?, attemptCount: Int32, attempts: [AttemptRecord],
    responseStatus: Int?
  ) {
    self.id = id
    self.draft = draft
    self.state = state
    self.reason = reason
    self.entry = entry
    self.endedAt = endedAt
    self.attemptCount = attemptCount
    self.attempts = attempts
    self.responseStatus = responseStatus
  }
}

/// The record of one client.
package struct ClientRecord: Sendable {
  /// The store's number of it.
  package var number: ClientNumber
  /// Its lanes, in the order in which they were first used; at most
  /// ``StoreLimits/lanesShownMax``.
  package var lanes: [LaneRecord]

  /// Puts a record together.
  package init(number: ClientNumber, lanes: [LaneRecord]) {
    self.number = number
    self.lanes = lanes
  }
}

/// The record of one lane.
package struct LaneRecord: Sendable {
  /// The store's number of it.
  package var number: LaneNumber
  /// Its name within the client.
  package var name: String
  /// The sequence number up to which nothing is waited for; nil if the client sends none.
  package var lastSequence: Int64?
  /// The greatest sequence number accepted; nil if that is ``lastSequence``.
  package var highestSequence: Int64?
  /// The numbers between the two that have not come.
  package var missing = MissingNumbers.none
  /// The latest numbers that did not come and are no longer accepted, in order; at most
  /// ``StoreLimits/missingRangesMax`` ranges.
  package var skipped: [SequenceRange] = []
  /// The number of its kept envelopes that ended in each way.
  package var ended: [EnvelopeState: Int]

  /// Puts a record together.
  package init(
    number: LaneNumber, name: String, lastSequence: Int64?, ended: [EnvelopeState: Int]
  ) {
    self.number = number
    self.name = name
    self.lastSequence = lastSequence
    self.ended = ended
  }
}

/// The amount of data in the store, and whether it can write.
package struct StoreStatistics: Sendable, Equatable {
  /// The number of envelopes in each state; the dispatcher tells `delivering` from `queued`.
  package var envelopes: [EnvelopeState: Int64]
  /// The bytes of bodies, headers and targets that are kept, ended envelopes included.
  package var contentBytes: Int64
  /// The last error that kept the store from writing, in words; nil while all is well.
  package var trouble: String?
  /// The error that has kept the store from being read lately, in words; nil while all is well.
  package var readTrouble: String?
  /// The latest time of an acceptance or attempt, by the relay's clock at that time; nil in a new
  /// store.
  package var latestTime: WallTime?
  /// The number of known clients and lanes.
  package var names = NameCounts()
  /// The relays that share the store, this one included, the one that has it first; empty if it is
  /// not shared.
  package var relays: [SharingRelay] = []
  /// Why what is acknowledged may be less safe than is wanted; nil if there is no such doubt.
  package var durabilityDoubt: DurabilityDoubt?
  /// The groups of receipts.
  package var receipts = ReceiptTally()

  /// Puts the figures together.
  package init(
    envelopes: [EnvelopeState: Int64] = [:], contentBytes: Int64 = 0, trouble: String? = nil,
    latestTime: WallTime? = nil
  ) {
    self.envelopes = envelopes
    self.contentBytes = contentBytes
    self.trouble = trouble
    self.latestTime = latestTime
  }

  /// The number of envelopes in a state.
  ///
  /// The store counts one that is being attempted as queued. It may know of an end before the
  /// dispatcher does, so that fewer are queued than are said to be in flight.
  ///
  /// - Parameter inFlight: The number of envelopes that are being attempted.
  package func count(of state: EnvelopeState, inFlight: Int) -> Int64 {
    let queued = envelopes[.queued] ?? 0
    let delivering = min(queued, Int64(inFlight))
    return switch state {
    case .queued: queued - delivering
    case .delivering: delivering
    case .held, .parked, .blocked, .delivered, .failed, .expired, .cancelled:
      envelopes[state] ?? 0
    }
  }
}

/// The limits on what a store keeps and shows.
package enum StoreLimits {
  /// The number of attempts of one envelope that are kept: the latest.
  package static let attemptsKeptMax = 100
  /// The most ranges of missing sequence numbers of a lane that are named.
  package static let missingRangesMax = 16
  /// The number of keys of replaced contents that one envelope keeps: the latest.
  package static let coalescedKeysKeptMax = 1000
  /// The most lanes of a client that are shown.
  package static let lanesShownMax = 1000
  /// The number of lanes, of all its clients together, at which a page of clients ends.
  package static let lanesListedMax = 10_000
}

/// The state of an earlier envelope whose answer another one refers to.
package enum ReferencedAnswer: Sendable, Equatable {
  /// The client has no envelope of this key, or none any more.
  case unknown
  /// It is or was in another lane.
  case elsewhere
  /// It was accepted after the one that refers to it.
  case notEarlier
  /// It waits, or ended in another way.
  case undelivered(EnvelopeState)
  /// It was delivered; nil if no answer was kept.
  case delivered(UpstreamResponse?)
}
