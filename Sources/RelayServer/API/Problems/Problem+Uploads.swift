import HTTPServer
import RelayCore

// Problems with uploads.

/// What the answer to a request about an upload says beside its problem.
package struct UploadNote: Equatable, Sendable {
  /// Where the upload is found.
  package var location: String?
  /// How many of its bytes are on the relay's disk: the next part begins there.
  package var offset: Int64?
  /// Where the request's content begins.
  package var provided: Int64?
  /// The limits of uploads.
  package var limit: String?
  /// Whether the whole upload has come, so that the problem is its envelope's.
  package var isComplete: Bool?

  /// Says nothing.
  package init() {}

  /// Adds what it says to a response's fields.
  func add(to headers: inout ResponseFields) {
    if let location { headers.add("Location", location) }
    if let offset { headers.add("Upload-Offset", "\(offset)") }
    if let isComplete { headers.add("Upload-Complete", isComplete ? "?1" : "?0") }
    if let limit { headers.add("Upload-Limit", limit) }
  }
}

extension Problem {
  /// There is no such upload, or no longer, or it is another client's.
  package static func unknownUpload(_ id: String) -> Problem {
    Problem(
      .unknownUpload,
      "There is no upload \(UploadID(parsing: id) == nil ? id.quoted : id); those that do not go on"
        + " are forgotten after a while.",
      fix: "Begin the upload anew.")
  }

  /// The deadline of the envelope has passed before all of it came.
  static func expiredUpload(_ id: UploadID, _ deadline: WallTime) -> Problem {
    Problem(
      .unknownUpload,
      "The upload \(id) has expired: the deadline of its envelope was"
        + " \(RFC3339.format(deadline)). It is forgotten.",
      fix: "Begin anew, with a later deadline.")
  }

  /// The deadline of the envelope has passed before its upload began.
  static func pastDeadline(field: String) -> Problem {
    .invalidField(
      field, "The deadline has passed already, so the rest of the body would come for nothing.",
      fix: "Give a later deadline, or leave the envelope out.")
  }

  /// This relay takes none.
  static func noUploads() -> Problem {
    Problem(
      .forbidden,
      "This relay takes no bodies in parts: limits.uploadsMax or clientUploadsMax is 0.",
      fix: "Send the whole body in one request, without Upload-Complete.")
  }

  /// The content begins elsewhere than the upload ends.
  package static func mismatchingOffset(expected: Int64, provided: Int64) -> Problem {
    var problem = Problem(
      .mismatchingUploadOffset,
      "The upload has \(expected) bytes, and the content begins at \(provided).",
      field: "Upload-Offset", fix: "Go on at the byte that the answer's Upload-Offset says.")
    var note = UploadNote()
    (note.offset, note.provided) = (expected, provided)
    problem.upload = note
    return problem
  }

  /// The upload is complete already.
  package static func completedUpload() -> Problem {
    Problem(
      .completedUpload, "The upload is complete, and takes nothing more.",
      fix: "HEAD tells its length; a request without content at that offset, with Upload-Complete:"
        + " ?1, is answered as a duplicate.")
  }

  /// The key is that of an envelope that was delivered, and is remembered longer than that.
  ///
  /// An upload is told so before its content has come, which could be the same.
  static func rememberedKey(_ key: String, field: String) -> Problem {
    Problem(
      .keyConflict,
      "The key \(key.quoted) was used before, for an envelope that was delivered and is not kept "
        + "any more.", field: field,
      fix: "If this repeats that one, do not send it again; use a new key for new content.")
  }

  /// An upload has the key, or has become an envelope, with other terms or other content.
  static func keyConflict(
    _ key: String?, with upload: Upload, field: String
  ) -> Problem {
    let words = key.map { "under the key \($0.quoted)" } ?? "of this id"
    var problem = Problem(
      .keyConflict,
      upload.envelope == nil
        ? "The upload \(words) is open, and was begun with other fields or another digest."
        : "The upload \(words) is complete, with other fields or other content.",
      field: key == nil ? nil : field,
      fix: upload.envelope == nil
        ? "Use a new key for new content; go on with the upload, or give it up with DELETE."
        : "Use a new key for new content; what is repeated has the same fields and bytes, or none.")
    problem.id = upload.envelope
    var note = UploadNote()
    if upload.envelope == nil { note.location = upload.id.path }
    note.isComplete = upload.envelope != nil
    problem.upload = note
    return problem
  }

  /// Another upload that is open has the number.
  static func sequenceConflict(
    _ sequence: Int64?, with upload: UploadID, field: String
  ) -> Problem {
    let words = sequence.map { "The lane's sequence number \($0)" } ?? "The sequence number"
    var problem = Problem(
      .sequenceConflict, "\(words) is that of another upload, which is open.", field: field,
      fix: "Go on with that one, or give it up with DELETE; use the next number for new content.")
    var note = UploadNote()
    note.location = upload.path
    problem.upload = note
    return problem
  }

  /// What is said of the upload's length contradicts itself.
  package static func inconsistentLength(isGivenUp: Bool) -> Problem {
    Problem(
      .inconsistentUploadLength,
      "Its length is not what was said of it, or what its content comes to."
        + (isGivenUp ? " The upload is forgotten." : ""),
      field: "Upload-Length",
      fix: isGivenUp
        ? "Begin the upload anew." : "Send what is missing, and say the same length each time.")
  }

  /// The whole has another digest than its sender said.
  package static func mismatchingDigest() -> Problem {
    Problem(
      .mismatchingDigest, "The SHA-256 of the whole is not the one that Repr-Digest says.",
      field: "Repr-Digest", fix: "Begin the upload anew: this one is forgotten.")
  }

  /// A later request goes on with the upload.
  package static func supersededUpload() -> Problem {
    Problem(
      .supersededUpload, "Another request about this upload has come, and has ended this one.",
      fix: "Ask for the offset with HEAD, and go on there; one request at a time.")
  }

  /// There are as many uploads as may be.
  ///
  /// - Parameter client: The client whose limit that is; nil for the limit of all.
  static func tooManyUploads(_ max: Int, ofClient client: String?) -> Problem {
    let words =
      client.map { "The client \($0.quoted) may have \(max) uploads open." }
      ?? "\(max) uploads may be open in all."
    return tooManyUploads(words)
  }

  /// A client's open uploads would claim more of the room than one client may.
  static func uploadShareTaken(_ bytesMax: Int64, of client: String) -> Problem {
    tooManyUploads(
      "The open uploads of the client \(client.quoted) may claim \(bytesMax) bytes, and with this"
        + " one they would claim more.")
  }

  private static func tooManyUploads(_ words: String) -> Problem {
    Problem(
      .tooManyUploads, words, fix: "Complete one, give one up with DELETE, or try again later."
    ).retry(afterSeconds: RetryHint.spread(RetryHint.mostSeconds))
  }
}
