/// Every type of problem that exists: the catalogue of `openapi.yaml` and `docs/protocol.md`.
///
/// The raw value is the last part of the type's URI, `urn:waystation:problem:<name>`.
package enum ProblemKind: String, CaseIterable, Sendable {
  case malformedRequest = "malformed-request"
  case malformedJSON = "malformed-json"
  case badContentEncoding = "bad-content-encoding"
  case unauthenticated
  case forbidden
  case crossSite = "cross-site"
  case unknownHost = "unknown-host"
  case notFound = "not-found"
  case unknownEnvelope = "unknown-envelope"
  case unknownClient = "unknown-client"
  case unknownToken = "unknown-token"
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
  case notEnded = "not-ended"
  case tooManyTokens = "too-many-tokens"
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
  case httpVersionNotSupported = "http-version-not-supported"
  case diskFull = "disk-full"

  /// The `type`: the same URI for every problem of this kind (RFC 9457 section 3.1.1).
  package var type: String { "urn:waystation:problem:\(rawValue)" }

  /// The status that answers it; only an upstream named in a path has another one, 404.
  package var status: Int {
    switch self {
    case .malformedRequest, .malformedJSON, .badContentEncoding: 400
    case .unauthenticated: 401
    case .forbidden, .crossSite: 403
    case .notFound, .unknownEnvelope, .unknownClient, .unknownToken, .unknownOperation,
      .noResponseYet:
      404
    case .methodNotAllowed: 405
    case .requestTimeout: 408
    case .sequencePassed, .parked, .behind, .blocked, .notBlocked, .delivering, .inDoubt,
      .alreadyEnded, .alreadyDelivered, .notEnded, .tooManyTokens, .countDiffers, .storeInPlace:
      409
    case .bodyTooLarge, .batchTooLarge: 413
    case .uriTooLong: 414
    case .unsupportedMediaType, .unsupportedContentEncoding: 415
    case .expectationFailed: 417
    case .unknownHost: 421
    case .unknownUpstream, .unknownField, .invalidField, .missingField, .keyConflict,
      .sequenceConflict, .batchRejected, .unknownCollection, .runTooLarge:
      422
    case .clientQueueFull, .queueFull, .tooManyNames, .rateLimited: 429
    case .headerFieldsTooLarge: 431
    case .internalError: 500
    case .notImplemented: 501
    case .overloaded, .draining, .storeUnavailable: 503
    case .httpVersionNotSupported: 505
    case .diskFull: 507
    }
  }

  /// The `title`: a short summary that is the same for every problem of this kind.
  package var title: String {
    switch self {
    case .malformedRequest: "The request is malformed"
    case .malformedJSON: "The body is not JSON"
    case .badContentEncoding: "The body cannot be unpacked"
    case .unauthenticated: "The relay does not know who asks"
    case .forbidden: "The caller may not do this"
    case .crossSite: "Another site had a browser send this"
    case .unknownHost: "The relay is not known by this host"
    case .notFound: "There is nothing here"
    case .unknownEnvelope: "Unknown envelope"
    case .unknownClient: "Unknown client"
    case .unknownToken: "Unknown token"
    case .unknownOperation: "Unknown operation"
    case .noResponseYet: "No answer of the upstream's yet"
    case .unknownUpstream: "Unknown upstream"
    case .methodNotAllowed: "The route has no such method"
    case .requestTimeout: "The request took too long"
    case .sequencePassed: "The lane is past this number"
    case .parked: "Numbers before its own are missing"
    case .behind: "Another envelope stands before it"
    case .blocked: "The envelope blocks its lane"
    case .notBlocked: "The envelope does not block its lane"
    case .delivering: "The envelope is being delivered"
    case .inDoubt: "The envelope may have arrived"
    case .alreadyEnded: "The envelope has ended"
    case .alreadyDelivered: "The envelope was delivered"
    case .notEnded: "The envelope has not ended"
    case .tooManyTokens: "Too many tokens are stored"
    case .countDiffers: "The filter matches another number"
    case .storeInPlace: "The store is in its place"
    case .bodyTooLarge: "The body is too large"
    case .batchTooLarge: "The batch is too large"
    case .uriTooLong: "The request target is too long"
    case .unsupportedMediaType: "Unsupported media type"
    case .unsupportedContentEncoding: "Unsupported content encoding"
    case .expectationFailed: "The expectation cannot be met"
    case .unknownField: "Unknown field"
    case .invalidField: "A field has a value that cannot be used"
    case .missingField: "A field is missing"
    case .keyConflict: "The key stands for another envelope"
    case .sequenceConflict: "The number stands for another envelope"
    case .batchRejected: "Nothing of the batch was taken"
    case .unknownCollection: "Unknown collection"
    case .runTooLarge: "The run is about too many envelopes"
    case .clientQueueFull: "The client has too much waiting"
    case .queueFull: "Too much waits"
    case .tooManyNames: "Too many names are in use"
    case .rateLimited: "Too many requests"
    case .headerFieldsTooLarge: "The header fields are too large"
    case .internalError: "A mistake of the relay's own"
    case .notImplemented: "Not implemented"
    case .overloaded: "The relay is overloaded"
    case .draining: "The relay is shutting down"
    case .storeUnavailable: "The store is not available"
    case .httpVersionNotSupported: "The HTTP version is not supported"
    case .diskFull: "There is no room on disk"
    }
  }

  /// Whether it says that there is no room for an envelope now: the one answer to a batch of which
  /// nothing was taken for that reason alone.
  package var isLackOfRoom: Bool {
    self == .queueFull || self == .clientQueueFull || self == .tooManyNames || self == .rateLimited
  }
}
