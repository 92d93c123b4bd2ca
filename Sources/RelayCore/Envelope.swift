/// The store's number of an envelope, in order of acceptance: from 1, never given out twice.
package typealias Serial = Int64

/// The store's number of a client.
package struct ClientNumber: Hashable, Comparable, Sendable {
  /// The number itself, from 1.
  package let rawValue: Int64
  /// Wraps a number that the store gave out.
  package init(rawValue: Int64) { self.rawValue = rawValue }
  /// Orders by number, so that what goes through a set of them can be repeated.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The store's number of a lane: one client's line, under one name.
package struct LaneNumber: Hashable, Comparable, Sendable {
  /// The number itself, from 1.
  package let rawValue: Int64
  /// Wraps a number that the store gave out.
  package init(rawValue: Int64) { self.rawValue = rawValue }
  /// Orders by number, so that what goes through a set of them can be repeated.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The store's number of an upstream's name.
///
/// It stays the name's own when the configuration changes.
package struct UpstreamNumber: Hashable, Comparable, Sendable {
  /// The number itself, from 1.
  package let rawValue: Int32
  /// Wraps a number that the store gave out.
  package init(rawValue: Int32) { self.rawValue = rawValue }
  /// Orders by number, so that what goes through a set of them can be repeated.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The request that an envelope carries, as it goes to the upstream.
package struct EnvelopeContent: Sendable, Equatable {
  /// The request method: a token (RFC 9110 section 9.1), letters' case as sent.
  package var method: String
  /// Path and query, from the leading `/`, byte for byte as the sender wrote them.
  package var target: [UInt8]
  /// The sender's fields, without those that only concern the sender and the relay.
  package var headers: HeaderBlock
  /// What follows the header.
  package var body: EnvelopeBody

  /// Puts the parts of a request together.
  package init(method: String, target: [UInt8], headers: HeaderBlock, body: EnvelopeBody) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
  }

  /// How many bytes body, headers and target have: what quotas count.
  package var byteCount: Int64 {
    body.byteCount + Int64(target.count + headers.bytes.count)
  }
}

/// An envelope's body: small ones travel in memory, large ones stay in a file of the store's.
package enum EnvelopeBody: Sendable, Equatable {
  /// The bytes themselves.
  case inline([UInt8])
  /// A file that the store keeps, written and synced before the envelope is accepted.
  case file(StoredBodyFile)

  /// The length in bytes.
  package var byteCount: Int64 {
    switch self {
    case .inline(let bytes): Int64(bytes.count)
    case .file(let file): file.byteCount
    }
  }
}

/// A body in a file of its own.
package struct StoredBodyFile: Hashable, Sendable {
  /// The file's path, to be opened for reading.
  package let path: String
  /// Its length in bytes.
  package let byteCount: Int64
  /// The ``Checksum`` of its bytes; nil if it was written before there were any.
  package let checksum: Int64?

  /// Names a file that holds `byteCount` bytes.
  package init(path: String, byteCount: Int64, checksum: Int64? = nil) {
    self.path = path
    self.byteCount = byteCount
    self.checksum = checksum
  }
}

/// An envelope as it is handed to the store: checked, and not yet accepted.
package struct EnvelopeDraft: Sendable {
  /// The sender's name: 1 to 128 visible ASCII characters.
  package var client: String
  /// The lane's name within the client: 1 to 128 visible ASCII characters.
  package var lane: String
  /// A configured upstream's name.
  package var upstream: String
  /// The request itself.
  package var content: EnvelopeContent
  /// The sender's own key, by which a repeated post is known; nil if it sent none.
  package var key: String?
  /// A digest of all that the sender said, by which a repeated key or number with other content is
  /// known.
  ///
  /// 32 bytes; empty where there is neither a key nor a sequence number.
  package var fingerprint: [UInt8]
  /// The sender's own number within the lane, from 1; nil if it sends none.
  package var sequence: Int64?
  /// The sender's own label; nil if it gave none.
  package var tag: String?
  /// Whether the envelope waits until someone runs it.
  package var hold: Bool
  /// Not to be attempted before this time; nil for at once.
  package var notBefore: WallTime?
  /// Past this time the envelope ends as `expired`.
  package var expiresAt: WallTime
  /// What becomes of the lane if this envelope is refused.
  package var onFailure: FailurePolicy
  /// Whether its content holds references to earlier envelopes' answers, to be filled when it is
  /// sent.
  package var references: Bool
  /// The name under which a later post of the same lane takes this one's place as long as it waits;
  /// nil for never.
  ///
  /// 1 to 128 visible ASCII characters.
  package var coalesce: String?

  /// Puts a draft together; see the properties for what each part means.
  package init(
    client: String, lane: String, upstream: String, content: EnvelopeContent, key: String? = nil,
    fingerprint: [UInt8] = [], sequence: Int64? = nil, tag: String? = nil, hold: Bool = false,
    notBefore: WallTime? = nil, expiresAt: WallTime, onFailure: FailurePolicy = .skip,
    references: Bool = false, coalesce: String? = nil
  ) {
    self.references = references
    self.coalesce = coalesce
    self.client = client
    self.lane = lane
    self.upstream = upstream
    self.content = content
    self.key = key
    self.fingerprint = fingerprint
    self.sequence = sequence
    self.tag = tag
    self.hold = hold
    self.notBefore = notBefore
    self.expiresAt = expiresAt
    self.onFailure = onFailure
  }
}

/// One place in the line: what scheduling needs to know of an envelope that waits.
package struct LineEntry: Hashable, Sendable {
  /// The envelope's number: its place in the order of acceptance.
  package var serial: Serial
  /// Whose envelope it is.
  package var client: ClientNumber
  /// The lane that it stands in.
  package var lane: LaneNumber
  /// Where it goes.
  package var upstream: UpstreamNumber
  /// When it was accepted.
  package var acceptedAt: WallTime
  /// When it ends as `expired`.
  package var expiresAt: WallTime
  /// Whether it may be attempted at all.
  package var standing: Standing
  /// What becomes of the lane if it is refused.
  package var onFailure: FailurePolicy
  /// Not to be attempted before this time, be it by the sender's wish or by backoff; nil for at
  /// once.
  package var dueAt: WallTime?
  /// How many attempts have been recorded.
  package var attempts: Int32
  /// Whether the upstream may have it already; see ``AmbiguityPolicy``.
  package var isInDoubt: Bool

  /// Describes an envelope's place; see the properties for what each part means.
  package init(
    serial: Serial, client: ClientNumber, lane: LaneNumber, upstream: UpstreamNumber,
    acceptedAt: WallTime, expiresAt: WallTime, standing: Standing = .queued,
    onFailure: FailurePolicy = .skip, dueAt: WallTime? = nil, attempts: Int32 = 0,
    isInDoubt: Bool = false
  ) {
    self.serial = serial
    self.client = client
    self.lane = lane
    self.upstream = upstream
    self.acceptedAt = acceptedAt
    self.expiresAt = expiresAt
    self.standing = standing
    self.onFailure = onFailure
    self.dueAt = dueAt
    self.attempts = attempts
    self.isInDoubt = isInDoubt
  }
}

extension LineEntry {
  /// Lets go of what holds it, or keeps it waiting.
  mutating func release() {
    standing = .queued
    dueAt = nil
  }

  /// Has it wait again after it has ended, as its sender wants: held, unless it was ever attempted,
  /// and not before its time.
  ///
  /// - Parameters:
  ///   - hold: Whether it is to wait until someone runs it.
  ///   - notBefore: The sender's earliest time for an attempt; one that has passed does not count.
  package mutating func waitAgain(hold: Bool, notBefore: WallTime?, at now: WallTime) {
    standing = hold && attempts == 0 && !isInDoubt ? .held : .queued
    dueAt = notBefore.flatMap { $0 > now ? $0 : nil }
  }
}

/// What an envelope is to be from now on; its key, its client, its lane and its place stay.
package struct EnvelopeEdit: Sendable, Equatable {
  /// The request itself.
  package var content: EnvelopeContent
  /// The sender's own label; nil for none.
  package var tag: String?
  /// Its place in the line, with what changes there: the upstream, the deadline, when it is due,
  /// whether it is held, and what becomes of its lane if it is refused.
  package var entry: LineEntry
  /// The sender's wish in ``LineEntry/dueAt``, as it is shown.
  package var notBefore: WallTime?
  /// Whether the content holds references to earlier envelopes' answers.
  package var references: Bool
  /// Whether it waits, or will wait once it is in line, until someone runs it.
  package var hold: Bool

  /// Puts an edit together; see the properties for what each part means.
  ///
  /// - Parameter hold: nil for what ``LineEntry/standing`` says.
  package init(
    content: EnvelopeContent, tag: String?, entry: LineEntry, notBefore: WallTime?,
    references: Bool = false, hold: Bool? = nil
  ) {
    self.references = references
    self.content = content
    self.tag = tag
    self.entry = entry
    // What has been corrected has never been sent.
    self.entry.isInDoubt = false
    self.notBefore = notBefore
    self.hold = hold ?? (entry.standing == .held)
  }
}

/// What an attempt needs of a waiting envelope.
package struct DeliverableEnvelope: Sendable {
  /// The envelope's number.
  package var serial: Serial
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The sender's name.
  package var client: String
  /// The sender's key, if it gave one.
  package var key: String?
  /// The request to be made.
  package var content: EnvelopeContent
  /// Whether the content holds references that are to be filled first.
  package var references: Bool
  /// How often the content has been replaced by a later post's.
  package var revision: Int64

  /// By which the upstream tells a repeat, unless the content has a field that says so.
  ///
  /// A content that has taken another one's place has a name of its own, since the former one may
  /// have arrived, though nobody knows.
  package var idempotencyKey: String { revision == 0 ? "\(id)" : "\(id).\(revision)" }

  /// Puts the parts together.
  package init(
    serial: Serial, id: EnvelopeID, client: String, key: String?, content: EnvelopeContent,
    references: Bool = false, revision: Int64 = 0
  ) {
    self.revision = revision
    self.references = references
    self.serial = serial
    self.id = id
    self.client = client
    self.key = key
    self.content = content
  }
}
