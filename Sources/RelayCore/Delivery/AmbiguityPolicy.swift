/// The handling of an envelope that an upstream may have taken: its request was written whole, and
/// no answer came.
///
/// A relay that is killed in the middle of an attempt leaves the same doubt. So at an upstream that
/// must not get an envelope twice, each attempt is recorded before it begins.
package enum AmbiguityPolicy: String, Sendable, CaseIterable {
  /// The envelope is sent again; the upstream recognises it by its `Idempotency-Key`.
  case retry
  /// The upstream is asked whether it has the envelope; only if not, the envelope is sent again.
  case verify
  /// The envelope's lane stands until somebody resolves it.
  case block

  /// Whether an attempt is recorded before it begins.
  var announcesAttempts: Bool { self != .retry }
}

/// The upstream's answer to the question whether it has an envelope.
enum VerificationVerdict: Sendable, Equatable {
  /// The upstream has it.
  case arrived
  /// The upstream does not have it.
  case notArrived
  /// The answer settles nothing.
  case unknown

  /// Judges the answer: 2xx means arrived, 404 and 410 mean not arrived, and all else is unknown.
  init(_ event: AttemptEvent) {
    guard case .answered(let response) = event else {
      self = .unknown
      return
    }
    switch response.status {
    case 200...299: self = .arrived
    case 404, 410: self = .notArrived
    default: self = .unknown
    }
  }
}
