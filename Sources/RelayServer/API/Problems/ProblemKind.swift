/// Every type of problem that exists.
///
/// A kind is a case here and a line of ``record``. The raw value is the last part of the type's
/// URI, `urn:waystation:problem:<name>`. A test compares the catalogues of `openapi.yaml` and
/// `docs/protocol.md` with the kinds.
package enum ProblemKind: String, CaseIterable, Sendable {
  case malformedRequest = "malformed-request"
  case malformedJSON = "malformed-json"
  case badContentEncoding = "bad-content-encoding"
  case partialContent = "partial-content"
  case unauthenticated
  case forbidden
  case crossSite = "cross-site"
  case unknownHost = "unknown-host"
  case notFound = "not-found"
  case unknownEnvelope = "unknown-envelope"
  case unknownClient = "unknown-client"
  case unknownToken = "unknown-token"
  case unknownUpload = "unknown-upload"
  case unknownOperation = "unknown-operation"
  case noResponseYet = "no-response-yet"
  case unknownUpstream = "unknown-upstream"
  case methodNotAllowed = "method-not-allowed"
  case requestTimeout = "request-timeout"
  case sequencePassed = "sequence-passed"
  case parked
  case behind
  case blocked
  case notBlocked = "not-blocked"
  case delivering
  case inDoubt = "in-doubt"
  case alreadyEnded = "already-ended"
  case alreadyDelivered = "already-delivered"
  case isReplay = "is-replay"
  case unfilledReferences = "unfilled-references"
  case notEnded = "not-ended"
  case tooManyTokens = "too-many-tokens"
  case notRenewable = "not-renewable"
  case mismatchingUploadOffset = "mismatching-upload-offset"
  case completedUpload = "completed-upload"
  case inconsistentUploadLength = "inconsistent-upload-length"
  case mismatchingDigest = "mismatching-digest"
  case supersededUpload = "superseded-upload"
  case tooManyUploads = "too-many-uploads"
  case countDiffers = "count-differs"
  case storeInPlace = "store-in-place"
  case bodyTooLarge = "body-too-large"
  case batchTooLarge = "batch-too-large"
  case uriTooLong = "uri-too-long"
  case unsupportedMediaType = "unsupported-media-type"
  case unsupportedContentEncoding = "unsupported-content-encoding"
  case expectationFailed = "expectation-failed"
  case unknownField = "unknown-field"
  case invalidField = "invalid-field"
  case missingField = "missing-field"
  case keyConflict = "key-conflict"
  case sequenceConflict = "sequence-conflict"
  case batchRejected = "batch-rejected"
  case unknownCollection = "unknown-collection"
  case runTooLarge = "run-too-large"
  case clientQueueFull = "client-queue-full"
  case queueFull = "queue-full"
  case tooManyNames = "too-many-names"
  case rateLimited = "rate-limited"
  case headerFieldsTooLarge = "header-fields-too-large"
  case internalError = "internal-error"
  case notImplemented = "not-implemented"
  case overloaded = "overloaded"
  case draining = "draining"
  case storeUnavailable = "store-unavailable"
  case noLeader = "no-leader"
  case httpVersionNotSupported = "http-version-not-supported"
  case diskFull = "disk-full"
  case relayLoop = "relay-loop"

  /// The `type`: the same URI for every problem of this kind (RFC 9457 section 3.1.1).
  ///
  /// Those that the draft on resumable uploads registers have its URIs.
  package var type: String {
    switch self {
    case .mismatchingUploadOffset, .completedUpload, .inconsistentUploadLength:
      "https://iana.org/assignments/http-problem-types#\(rawValue)"
    default: "urn:waystation:problem:\(rawValue)"
    }
  }

  /// The facts of a kind, the same in each of its problems.
  package struct Record: Sendable {
    /// The status that answers it.
    package let status: Int
    /// The status that answers it where a path names what is unknown, if that is another one.
    package let statusInPath: Int?
    /// A short summary that is the same for every problem of the kind.
    package let title: String

    fileprivate init(_ status: Int, inPath statusInPath: Int? = nil, _ title: String) {
      self.status = status
      self.statusInPath = statusInPath
      self.title = title
    }
  }

  /// The kind's record.
  package var record: Record {
    switch self {
    case .malformedRequest: Record(400, "The request is malformed")
    case .malformedJSON: Record(400, "The body is not JSON")
    case .badContentEncoding: Record(400, "The body cannot be unpacked")
    case .partialContent: Record(400, "A part of a content was sent")
    case .unauthenticated: Record(401, "The relay does not know who asks")
    case .forbidden: Record(403, "The caller may not do this")
    case .crossSite: Record(403, "Another site had a browser send this")
    case .unknownHost: Record(421, "The relay is not known by this host")
    case .notFound: Record(404, "There is nothing here")
    case .unknownEnvelope: Record(404, "Unknown envelope")
    case .unknownClient: Record(404, "Unknown client")
    case .unknownToken: Record(404, "Unknown token")
    case .unknownUpload: Record(404, "Unknown upload")
    case .unknownOperation: Record(404, "Unknown operation")
    case .noResponseYet: Record(404, "No answer of the upstream's yet")
    case .unknownUpstream: Record(422, inPath: 404, "Unknown upstream")
    case .methodNotAllowed: Record(405, "The route has no such method")
    case .requestTimeout: Record(408, "The request took too long")
    case .sequencePassed: Record(409, "The lane is past this number")
    case .parked: Record(409, "Numbers before its own are missing")
    case .behind: Record(409, "Another envelope stands before it")
    case .blocked: Record(409, "The envelope blocks its lane")
    case .notBlocked: Record(409, "The envelope does not block its lane")
    case .delivering: Record(409, "The envelope is being delivered")
    case .inDoubt: Record(409, "The envelope may have arrived")
    case .alreadyEnded: Record(409, "The envelope has ended")
    case .alreadyDelivered: Record(409, "The envelope was delivered")
    case .isReplay: Record(409, "The envelope is itself a replay")
    case .unfilledReferences: Record(409, "The envelope's references cannot be filled any more")
    case .notEnded: Record(409, "The envelope has not ended")
    case .tooManyTokens: Record(409, "Too many tokens are stored")
    case .notRenewable: Record(409, "The credential cannot be renewed")
    case .mismatchingUploadOffset: Record(409, "The upload ends elsewhere")
    case .completedUpload: Record(400, "The upload is complete")
    case .inconsistentUploadLength: Record(400, "The upload's length is not consistent")
    case .mismatchingDigest: Record(422, "The digest is another one")
    case .supersededUpload: Record(409, "Another request goes on with the upload")
    case .tooManyUploads: Record(429, "Too many uploads are open")
    case .countDiffers: Record(409, "The filter matches another number")
    case .storeInPlace: Record(409, "The store is in its place")
    case .bodyTooLarge: Record(413, "The body is too large")
    case .batchTooLarge: Record(413, "The batch is too large")
    case .uriTooLong: Record(414, "The request target is too long")
    case .unsupportedMediaType: Record(415, "Unsupported media type")
    case .unsupportedContentEncoding: Record(415, "Unsupported content encoding")
    case .expectationFailed: Record(417, "The expectation cannot be met")
    case .unknownField: Record(422, "Unknown field")
    case .invalidField: Record(422, "A field has a value that cannot be used")
    case .missingField: Record(422, "A field is missing")
    case .keyConflict: Record(422, "The key stands for another envelope")
    case .sequenceConflict: Record(422, "The number stands for another envelope")
    case .batchRejected: Record(422, "Nothing of the batch was taken")
    case .unknownCollection: Record(422, "Unknown collection")
    case .runTooLarge: Record(422, "The run is about too many envelopes")
    case .clientQueueFull: Record(429, "The client has too much waiting")
    case .queueFull: Record(429, "Too much waits")
    case .tooManyNames: Record(429, "Too many names are in use")
    case .rateLimited: Record(429, "Too many requests")
    case .headerFieldsTooLarge: Record(431, "The header fields are too large")
    case .internalError: Record(500, "A mistake of the relay's own")
    case .notImplemented: Record(501, "Not implemented")
    case .overloaded: Record(503, "The relay is overloaded")
    case .draining: Record(503, "The relay is shutting down")
    case .storeUnavailable: Record(503, "The store is not available")
    case .noLeader: Record(503, "No relay could be reached that has the store")
    case .httpVersionNotSupported: Record(505, "The HTTP version is not supported")
    case .diskFull: Record(507, "There is no room on disk")
    case .relayLoop: Record(508, "The relays lead in a circle")
    }
  }

  /// The status that answers it; an upstream that a path names has another one.
  package var status: Int { record.status }

  /// The `title`: a short summary that is the same for every problem of this kind.
  package var title: String { record.title }

  /// Whether it says that there is no room for an envelope now: the one answer to a batch of which
  /// nothing was taken for that reason alone.
  package var isLackOfRoom: Bool {
    self == .queueFull || self == .clientQueueFull || self == .tooManyNames || self == .rateLimited
  }
}
