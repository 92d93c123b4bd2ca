/// Everything that the store knows of one envelope.
package struct EnvelopeRecord: Sendable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// What the sender handed over, as it stands now.
  package var draft: EnvelopeDraft
  /// Where it is; never ``EnvelopeState/delivering``, which only the dispatcher knows.
  package var state: EnvelopeState
  /// In words, why it ended or stands; nil if there is nothing to say.
  package var reason: String?
  /// Its place in the line; of an envelope that has ended, the one that it would have again.
  package var entry: LineEntry
  /// When it ended; nil if it has not.
  package var endedAt: WallTime?
  /// How many attempts were recorded in all.
  package var attemptCount: Int32
  /// The latest attempts, oldest first; at most ``StoreLimits/attemptsKeptMax``.
  package var attempts: [AttemptRecord]
  /// The status of the kept answer; nil if there is none.
  package var responseStatus: Int?
  /// Of one that is parked, the sequence numbers that it waits for.
  package var missing = MissingNumbers.none
  /// How often its content has been replaced by a later post's.
  package var revision: Int64 = 0
  /// The sum of what was accepted, as it was written then; nil if there is none.
  package var checksum: Int64?
  /// Whether what was posted cannot be read: ``draft`` then holds only what else is known.
  package var isUnreadable = false

  /// The lane that it stands, or stood, in.
  package var lane: LaneNumber { entry.lane }
  /// When it is to be attempted next; nil if nothing keeps it, or it has ended.
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

/// What the store knows of one client.
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

/// What the store knows of one lane.
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
  /// The latest of those that did not come and are taken no longer, in order; at most
  /// ``StoreLimits/missingRangesMax``.
  package var skipped: [SequenceRange] = []
  /// How many envelopes of it ended in each way and are still kept.
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

/// A lane by its names.
package struct LaneName: Hashable, Sendable {
  /// The client's name.
  package var client: String
  /// The lane's name within the client.
  package var lane: String

  /// Pairs the names.
  package init(client: String, lane: String) {
    self.client = client
    self.lane = lane
  }
}

/// How much the store holds.
package struct StoreStatistics: Sendable, Equatable {
  /// How many envelopes are in each state; the dispatcher tells `delivering` from `queued`.
  package var envelopes: [EnvelopeState: Int64]
  /// How many bytes of bodies, headers and targets are kept, ended envelopes included.
  package var contentBytes: Int64
  /// How many bytes the store's files take on disk.
  package var fileBytes: Int64
  /// How many bytes of its log are not known to have been copied into the database.
  package var logBytes: Int64
  /// How many bytes new envelopes may still take on disk.
  package var roomBytes: Int64
  /// The last trouble that kept the store from writing, in words; nil while all is well.
  package var trouble: String?
  /// The latest time at which anything was accepted or attempted, by the relay's clock as of then;
  /// nil in a new store.
  package var latestTime: WallTime?
  /// How many clients and lanes are known.
  package var names = NameCounts()
  /// What of the store is known to be damaged, though it goes on.
  package var damage = StoreDamage()
  /// The damaged store that was moved aside here last, as long as its folder is there.
  package var setAside: SetAsideStore?
  /// Whether tokens, or that some were revoked, may have been lost with a damaged store.
  package var mayLackTokens = false
  /// What the start met and took no harm by, in words; nil if there was nothing of the kind.
  package var startNote: String?

  /// Puts the figures together.
  package init(
    envelopes: [EnvelopeState: Int64] = [:], contentBytes: Int64 = 0, fileBytes: Int64 = 0,
    logBytes: Int64 = 0, roomBytes: Int64 = .max, trouble: String? = nil,
    latestTime: WallTime? = nil
  ) {
    self.envelopes = envelopes
    self.contentBytes = contentBytes
    self.fileBytes = fileBytes
    self.logBytes = logBytes
    self.roomBytes = roomBytes
    self.trouble = trouble
    self.latestTime = latestTime
  }
}

/// The limits of what a store keeps and shows.
package enum StoreLimits {
  /// How many attempts of one envelope are kept: the latest.
  package static let attemptsKeptMax = 100
  /// How many stretches of missing sequence numbers of a lane are named.
  package static let missingRangesMax = 16
  /// How many keys of contents that a later post has replaced one envelope keeps: the latest.
  package static let coalescedKeysKeptMax = 1000
  /// How many of a client's lanes are shown.
  package static let lanesShownMax = 1000
  /// At how many lanes, of all its clients together, a page of clients ends.
  package static let lanesListedMax = 10_000
}

/// What has become of an envelope whose answer another one refers to.
package enum ReferencedAnswer: Sendable, Equatable {
  /// The client has none of this key, or no longer.
  case unknown
  /// It stands, or stood, in another lane.
  case elsewhere
  /// It was accepted after the one that refers to it.
  case notEarlier
  /// It waits, or ended in another way.
  case undelivered(EnvelopeState)
  /// It was delivered; nil if no answer was kept.
  case delivered(UpstreamResponse?)
}
