/// An upload: an envelope whose body comes in by several requests.
package struct Upload: Sendable, Equatable {
  /// The relay's name for it.
  package let id: UploadID
  /// The envelope that it becomes.
  package var terms: UploadTerms
  /// The length of the whole body; nil as long as the sender has not said it.
  package var length: Int64?
  /// The number of bytes that are on disk for good: what a sender may be told.
  package var offset: Int64
  /// The time when something of it came last.
  package var touchedAt: WallTime
  /// The envelope that it has become; nil as long as it is open.
  package var envelope: EnvelopeID?

  /// An upload of which nothing has come yet.
  package init(id: UploadID, terms: UploadTerms, length: Int64?, at time: WallTime) {
    self.init(id: id, terms: terms, length: length, offset: 0, touchedAt: time, envelope: nil)
  }

  /// Restores a stored upload.
  package init(
    id: UploadID, terms: UploadTerms, length: Int64?, offset: Int64, touchedAt: WallTime,
    envelope: EnvelopeID?
  ) {
    self.id = id
    self.terms = terms
    self.length = length
    self.offset = offset
    self.touchedAt = touchedAt
    self.envelope = envelope
  }

  /// Its client's name.
  package var client: String { terms.draft.client }

  /// What it claims of its client's quota: what the whole envelope will, as far as that is known.
  package var use: WaitingUse {
    WaitingUse(count: 1, bytes: terms.draft.content.byteCount + max(length ?? 0, offset))
  }
}

/// A part of the list of uploads.
package struct UploadPage: Sendable, Equatable {
  /// The uploads, in the order in which they were begun.
  package var uploads: [Upload]
  /// Whether there are more behind them.
  package var hasMore: Bool

  /// Puts a page together.
  package init(uploads: [Upload], hasMore: Bool) {
    self.uploads = uploads
    self.hasMore = hasMore
  }
}

/// A store of uploads.
///
/// The bytes of an open upload lie where those of a large body lie, and become the body of an
/// envelope without being copied. An envelope that is appended with such a body completes the
/// upload in the same transaction.
package protocol UploadStore: Sendable {
  /// Stores a new upload, durably.
  ///
  /// - Returns: It, or the one that its client has under the same key.
  func beginUpload(_ upload: Upload) async throws(StoreError) -> Upload

  /// An upload; nil if there is none of this id.
  func upload(_ id: UploadID) async throws(StoreError) -> Upload?

  /// The upload that a client has under a key; nil if there is none.
  func upload(client: String, key: String) async throws(StoreError) -> Upload?

  /// Whether a client's key is remembered whose envelope is forgotten; see ``RememberedKey``.
  func remembers(key: String, of client: String) async throws(StoreError) -> Bool

  /// Uploads in the order in which they were begun, complete ones among them.
  ///
  /// - Parameters:
  ///   - client: Whose; nil for all.
  ///   - id: The one behind which to begin; nil for the beginning.
  func uploads(
    of client: String?, after id: UploadID?, countMax: Int
  ) async throws(StoreError) -> UploadPage

  /// The uploads that are open.
  ///
  /// Those whose bytes are lost, as after a backup was put back, are forgotten by this.
  func openUploads() async throws(StoreError) -> [Upload]

  /// Goes on with an open upload, behind the bytes that are on disk for good; what came behind them
  /// is dropped.
  ///
  /// - Returns: nil if there is no such upload, or its bytes are lost; then it is forgotten.
  func resumeUpload(_ id: UploadID) async throws(StoreError) -> (any UploadWriter)?

  /// Notes that an upload has become an envelope that was there before: its bytes are dropped.
  func settleUpload(_ id: UploadID, as envelope: EnvelopeID) async throws(StoreError)

  /// Forgets an upload, and its bytes if it is open; does nothing if there is none of this id.
  func deleteUpload(_ id: UploadID) async throws(StoreError)

  /// Uploads of which nothing has come since a time, the oldest first.
  ///
  /// - Parameter countMax: The most uploads to return, so that a step is short.
  func staleUploads(
    before time: WallTime, countMax: Int
  ) async throws(StoreError) -> [UploadID]

  /// Forgets those of some uploads of which nothing has come since a time.
  ///
  /// - Returns: Those that were forgotten.
  func forgetUploads(
    _ ids: [UploadID], before time: WallTime
  ) async throws(StoreError) -> [UploadID]
}

/// The bytes of an upload, on their way into the store.
package protocol UploadWriter: Sendable {
  /// Adds bytes at the end.
  func append(_ bytes: [UInt8]) async throws(StoreError)

  /// Has all that was added on disk for good, and says so in the upload.
  ///
  /// - Parameters:
  ///   - length: The length of the whole, as far as it is known.
  ///   - time: The present time.
  func sync(length: Int64?, at time: WallTime) async throws(StoreError)

  /// All that is synced, as the body of an envelope; its checksum is not known.
  var body: StoredBodyFile { get }
}
