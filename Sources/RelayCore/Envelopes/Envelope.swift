/// The request that an envelope carries, as it goes to the upstream.
package struct EnvelopeContent: Sendable, Equatable {
  /// The request method: a token (RFC 9110 section 9.1), letters' case as sent.
  package var method: String
  /// Path and query, from the leading `/`, byte for byte as the sender wrote them.
  package var target: [UInt8]
  /// The sender's fields, without those that only concern the sender and the relay.
  package var headers: HeaderBlock
  /// The body.
  package var body: EnvelopeBody

  /// Puts the parts of a request together.
  package init(method: String, target: [UInt8], headers: HeaderBlock, body: EnvelopeBody) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
  }

  /// The size of body, headers and target in bytes: what quotas count.
  package var byteCount: Int64 {
    body.byteCount + Int64(target.count + headers.bytes.count)
  }
}

/// An envelope's body: a small one is in memory, a large one in a file of the store.
package enum EnvelopeBody: Sendable, Equatable {
  /// The bytes themselves.
  case inline([UInt8])
  /// A file of the store, written and synced before the envelope is accepted.
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

/// An envelope as it is handed to the store: checked, but not accepted yet.
package struct EnvelopeDraft: Sendable, Equatable {
  /// The client's name: 1 to 128 visible ASCII characters.
  package var client: String
  /// The lane's name within the client: 1 to 128 visible ASCII characters.
  package var lane: String
  /// A configured upstream's name.
  package var upstream: String
  /// The request itself.
  package var content: EnvelopeContent
  /// The sender's own key, by which a repeated post is recognised; nil if it sent none.
  package var key: String?
  /// A digest of what the sender said of the envelope, by which a repeated key or number with other
  /// content is recognised.
  ///
  /// 32 bytes; empty where there is neither a key nor a sequence number.
  package var fingerprint: [UInt8]
  /// The sender's own number within the lane, from 1; nil if it sends none.
  package var sequence: Int64?
  /// The sender's own word for it, to find it by; nil if it gave none.
  package var tag: String?
  /// Whether the envelope waits until someone runs it.
  package var hold: Bool
  /// The earliest time for an attempt; nil for at once.
  package var notBefore: WallTime?
  /// The time past which the envelope ends as `expired`.
  package var expiresAt: WallTime
  /// The effect on the lane if this envelope is refused.
  package var onFailure: FailurePolicy
  /// Whether its content holds references to earlier envelopes' answers, to be filled when it is
  /// sent.
  package var references: Bool
  /// The name under which a later post of the same lane replaces this one's content as long as it
  /// waits; nil for never.
  ///
  /// 1 to 128 visible ASCII characters.
  package var coalesce: String?
  /// Whether it is no envelope at all: its sequence number counts as come, and nothing is stored of
  /// it beside that.
  package var isVoid: Bool
  /// Whether its sender hands the lane over in order: lower numbers that are missing are not waited
  /// for, and a number that nobody waits for any more is left away.
  package var isInOrder: Bool

  /// Puts a draft together; see the properties for what each part means.
  ///
  /// Nothing has a default, so that the compiler asks each place about a new part: what one of them
  /// leaves out would be lost there.
  package init(
    client: String, lane: String, upstream: String, content: EnvelopeContent, key: String?,
    fingerprint: [UInt8], sequence: Int64?, tag: String?, hold: Bool, notBefore: WallTime?,
    expiresAt: WallTime, onFailure: FailurePolicy, references: Bool, coalesce: String?,
    isVoid: Bool, isInOrder: Bool
  ) {
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
    self.references = references
    self.coalesce = coalesce
    self.isVoid = isVoid
    self.isInOrder = isInOrder
  }

  /// A draft of which nothing is said beyond the request, where it goes, and until when.
  package init(
    client: String, lane: String, upstream: String, content: EnvelopeContent, expiresAt: WallTime
  ) {
    self.init(
      client: client, lane: lane, upstream: upstream, content: content, key: nil, fingerprint: [],
      sequence: nil, tag: nil, hold: false, notBefore: nil, expiresAt: expiresAt,
      onFailure: .skip, references: false, coalesce: nil, isVoid: false, isInOrder: false)
  }

  /// The same without a number.
  package var unnumbered: EnvelopeDraft {
    var draft = self
    draft.sequence = nil
    return draft
  }
}

/// An envelope's place in the line: what scheduling needs to know while it waits.
package struct LineEntry: Hashable, Sendable {
  /// The envelope's number: its place in the order of acceptance.
  package var serial: Serial
  /// The client that sent it.
  package var client: ClientNumber
  /// The lane that it stands in.
  package var lane: LaneNumber
  /// The upstream that it goes to.
  package var upstream: UpstreamNumber
  /// The time of acceptance.
  package var acceptedAt: WallTime
  /// The time at which it ends as `expired`.
  package var expiresAt: WallTime
  /// Whether it may be attempted at all.
  package var standing: Standing
  /// The effect on the lane if it is refused.
  package var onFailure: FailurePolicy
  /// The earliest time for an attempt, whether by the sender's wish or by backoff; nil for at once.
  package var dueAt: WallTime?
  /// The number of recorded attempts.
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
  /// Queues it for an attempt at once: it is no longer held, blocked or waiting for a time.
  mutating func release() {
    standing = .queued
    dueAt = nil
  }

  /// Makes it wait again after it has ended, as its sender asked: held, unless it was ever
  /// attempted, and not before its time.
  ///
  /// - Parameters:
  ///   - hold: Whether it is to wait until someone runs it.
  ///   - notBefore: The sender's earliest time for an attempt; one that has passed does not count.
  package mutating func waitAgain(hold: Bool, notBefore: WallTime?, at now: WallTime) {
    standing = hold && attempts == 0 && !isInDoubt ? .held : .queued
    dueAt = notBefore.flatMap { $0 > now ? $0 : nil }
  }
}

/// The new content and terms of an envelope; its key, client, lane and place stay.
package struct EnvelopeEdit: Sendable, Equatable {
  /// The request itself.
  package var content: EnvelopeContent
  /// The sender's own word for it, to find it by; nil for none.
  package var tag: String?
  /// Its place in the line, with what changes there: the upstream, the deadline, the time when it
  /// is due, whether it is held, and what happens to its lane if it is refused.
  package var entry: LineEntry
  /// The sender's part in ``LineEntry/dueAt``, as it is shown.
  package var notBefore: WallTime?
  /// Whether the content holds references to earlier envelopes' answers.
  package var references: Bool
  /// Whether it waits until someone runs it, now or once it is in line.
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
    // Corrected content has never been sent.
    self.entry.isInDoubt = false
    self.notBefore = notBefore
    self.hold = hold ?? (entry.standing == .held)
  }
}

/// The part of a waiting envelope that an attempt needs.
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
  /// The number of times that the content has been replaced by a later post's.
  package var revision: Int64

  /// The key by which the upstream recognises a repeat, unless the content has a header field for
  /// that.
  package var idempotencyKey: String { id.idempotencyKey(revision: revision) }

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

extension EnvelopeID {
  /// The key by which an upstream recognises a repeat of content that has replaced other content so
  /// many times.
  ///
  /// Such content has a key of its own, since the former content may have arrived unnoticed.
  package func idempotencyKey(revision: Int64) -> String {
    revision == 0 ? description : "\(self).\(revision)"
  }
}
