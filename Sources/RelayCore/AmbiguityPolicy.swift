/// What is done about an envelope that an upstream may have taken without saying so: its request
/// was written whole, and no answer came.
///
/// A relay that is killed in the middle of an attempt leaves the same doubt. So at an upstream that
/// must not get an envelope twice, each attempt is recorded before it begins.
package enum AmbiguityPolicy: String, Sendable, CaseIterable {
  /// It is sent again; the upstream knows it by its `Idempotency-Key`.
  case retry
  /// The upstream is asked whether it has it, and it is sent again only if not.
  case verify
  /// Its lane stands until somebody resolves it.
  case block

  /// Whether an attempt is recorded before it begins.
  var announcesAttempts: Bool { self != .retry }
}

/// What an upstream said when it was asked whether it has an envelope.
enum VerificationVerdict: Sendable, Equatable {
  /// It has.
  case arrived
  /// It has not.
  case notArrived
  /// Nothing that can be gone by.
  case unknown

  /// Judges the answer to the question: 2xx, 404 and 410 are clear.
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
