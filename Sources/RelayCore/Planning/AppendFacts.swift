/// What the rules of appending ask a store.
///
/// A store in the same process answers each question by reading a row when it is asked. One that
/// answers over a network reads before its transaction what a batch may ask (``AppendQuestions``),
/// and answers from that (``GatheredFacts``). Both answer as things stand after the posts that were
/// planned before in the same transaction.
package protocol AppendFacts {
  /// The numbers and names that the store has given out so far.
  var given: GivenNumbers { get }

  /// The most names that may be known.
  var nameLimits: NameLimits { get }

  /// The number of a client; nil if it is not known yet.
  func knownClient(_ name: String) throws(StoreError) -> ClientNumber?

  /// A lane; nil if it is not known yet.
  func knownLane(_ name: LaneName) throws(StoreError) -> KnownLane?

  /// The number of lanes of a client.
  func laneCount(of client: ClientNumber) throws(StoreError) -> Int64

  /// The number of an upstream, given out now if its name is new.
  func upstreamNumber(_ name: String) throws(StoreError) -> UpstreamNumber

  /// The post that a client's key stands for; nil if there is none.
  ///
  /// Its fingerprint is that of the content that came with this key.
  func post(ofKey key: String, of client: ClientNumber) throws(StoreError) -> StoredPost?

  /// What was posted under a client's key whose envelope is forgotten, as ``RememberedKey`` has it;
  /// nil if that is not remembered.
  func rememberedDigest(ofKey key: String, of client: String) throws(StoreError) -> [UInt8]?

  /// What a lane has taken under a sequence number.
  func holder(ofNumber number: Int64, in lane: LaneNumber) throws(StoreError) -> NumberHolder

  /// The gap that a sequence number lies in; nil if it lies in none.
  func gap(around number: Int64, in lane: LaneNumber) throws(StoreError) -> SequenceGap?

  /// The sequence number up to which everything that came stands in line; nil if nothing is parked
  /// in the lane.
  func placedThrough(_ lane: LaneNumber) throws(StoreError) -> Int64?

  /// The lowest sequence number that a lane waits for; nil if it waits for none.
  func firstMissing(in lane: LaneNumber) throws(StoreError) -> Int64?

  /// The last envelope that was posted under a name to coalesce by, as it waits; nil if it does not
  /// wait.
  func waitingPost(ofName name: String, in lane: KnownLane) throws(StoreError) -> WaitingPost?

  /// Keeps a waiting envelope from being attempted or changed until the end of the transaction.
  ///
  /// - Returns: false if an attempt or another change is under way.
  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool
}

/// The numbers that a store has given out, and how many names it knows.
package struct GivenNumbers: Equatable, Sendable {
  /// The greatest serial.
  package var lastSerial: Serial = 0
  /// The greatest number of a client, forgotten ones included.
  package var lastClient: Int64 = 0
  /// The greatest number of a lane, forgotten ones included.
  package var lastLane: Int64 = 0
  /// The greatest number of an ending that a client is told, where the store gives them out here.
  package var lastEnding: EndingNumber = 0
  /// The known names.
  package var names = NameCounts()
  /// The latest time of an acceptance or an attempt.
  package var latestTime = WallTime(millisecondsSinceEpoch: 0)

  /// None.
  package init() {}

  /// The serial of the next envelope.
  package var nextSerial: Serial { lastSerial + 1 }
  /// The number of the next client that becomes known.
  package var nextClient: ClientNumber { ClientNumber(rawValue: lastClient + 1) }
  /// The number of the next lane that becomes known.
  package var nextLane: LaneNumber { LaneNumber(rawValue: lastLane + 1) }
}

/// A lane that a store knows.
package struct KnownLane: Equatable, Sendable {
  /// The client that it belongs to.
  package let client: ClientNumber
  /// The store's number of it.
  package let number: LaneNumber
  /// The greatest sequence number that it has taken; nil if it has taken none.
  package var lastSequence: Int64?

  /// Describes a lane.
  package init(client: ClientNumber, number: LaneNumber, lastSequence: Int64?) {
    self.client = client
    self.number = number
    self.lastSequence = lastSequence
  }
}

/// The part of a stored envelope by which a repeated post is recognised.
package struct StoredPost: Equatable, Sendable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The digest of what was posted.
  package var fingerprint: [UInt8]
  /// Its latest key; nil if it has none.
  package var key: String?
  /// Its state, never ``EnvelopeState/delivering``.
  package var state: EnvelopeState

  /// Puts the parts together.
  package init(id: EnvelopeID, fingerprint: [UInt8], key: String?, state: EnvelopeState) {
    self.id = id
    self.fingerprint = fingerprint
    self.key = key
    self.state = state
  }
}

/// What a lane has taken under a sequence number.
package enum NumberHolder: Equatable, Sendable {
  /// The number has not come.
  case nobody
  /// The envelope that came with it is not kept any more.
  case forgotten
  /// This envelope came with it.
  case post(StoredPost)
}

/// Consecutive sequence numbers that have not come, though a later one has.
package struct SequenceGap: Equatable, Sendable {
  /// The numbers.
  package var range: SequenceRange
  /// Whether nobody waits for them any more.
  package var isSkipped: Bool

  /// Describes a gap.
  package init(_ range: SequenceRange, isSkipped: Bool = false) {
    self.range = range
    self.isSkipped = isSkipped
  }
}

/// A waiting envelope whose content a later post may replace.
package struct WaitingPost: Equatable, Sendable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The key of its latest post; nil if that had none.
  package var key: String?
  /// The fingerprint of its latest post.
  package var fingerprint: [UInt8]
  /// The earliest time that its latest post asked for.
  package var notBefore: WallTime?
  /// The number of times that its content has been replaced.
  package var revision: Int64
  /// Its place in the line.
  package var entry: LineEntry

  /// Puts the parts together.
  package init(
    id: EnvelopeID, key: String?, fingerprint: [UInt8], notBefore: WallTime?, revision: Int64,
    entry: LineEntry
  ) {
    self.id = id
    self.key = key
    self.fingerprint = fingerprint
    self.notBefore = notBefore
    self.revision = revision
    self.entry = entry
  }
}
