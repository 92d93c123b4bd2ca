import RelayCore

/// A client's mistake, or why the relay cannot serve it now, as it is told (RFC 9457).
///
/// Made by one factory a kind, so that each kind has its words, its status and its extension
/// members in one place.
package struct Problem: Error, Equatable, Sendable {
  /// Which problem it is.
  package let kind: ProblemKind
  /// The status that answers it.
  package var status: Int
  /// A sentence that says what happened here.
  package var detail: String
  /// The place of the mistake: a JSON pointer (RFC 6901), or the name of a header field or query
  /// parameter; nil if there is no such place.
  package var field: String?
  /// A sentence that says what to do.
  package var fix: String?
  /// With `key-conflict` and `sequence-conflict`, the envelope that has the key or the number.
  package var id: EnvelopeID?
  /// With `behind`, the head of the lane.
  package var before: EnvelopeID?
  /// The key of ``before``; nil if it has none.
  package var beforeKey: String?
  /// With a problem of an envelope's state, the state.
  package var state: EnvelopeState?
  /// With `sequence-passed`, the number up to which the lane waits for nothing.
  package var lastSequence: Int64?
  /// With `parked`, the sequence numbers that are waited for.
  package var missing = MissingNumbers.none
  /// With `batch-rejected`, the results of the items: a JSON array.
  package var results: [UInt8]?
  /// With a quota that is used up, which one.
  package var limit: ExceededLimit?
  /// After how many seconds to try again, where that helps.
  package var retryAfterSeconds: Int?
  /// With `method-not-allowed`, the methods that the route has.
  package var allow: String?
  /// The challenge of `WWW-Authenticate` (RFC 6750 section 3); nil if there is none.
  package var challenge: String?
  /// With `unsupported-media-type`, the media types that are taken.
  package var accept: String?
  /// With a problem of an upload, how that stands.
  package var upload: UploadNote?

  /// A problem of a kind, without extension members.
  package init(_ kind: ProblemKind, _ detail: String, field: String? = nil, fix: String? = nil) {
    self.kind = kind
    self.detail = detail
    self.field = field
    self.fix = fix
    status = kind.status
  }

  func retry(afterSeconds seconds: Int) -> Problem {
    var problem = self
    problem.retryAfterSeconds = seconds
    return problem
  }
}
