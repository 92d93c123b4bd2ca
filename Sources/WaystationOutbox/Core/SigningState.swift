import RelayCore

/// What is known of the device's own signatures.
struct SigningState: Sendable {
  /// Up to where signed items have left, of each lane in which any were signed, or are to be.
  var lanes: [LaneNumber: SignedLane] = [:]
  /// The lanes of which it was known at the opening that something of them was signed.
  var known: Set<LaneNumber> = []
  /// The lanes whose items go unsigned now, as far as that has been seen to.
  var left: Set<LaneNumber> = []
  /// The items below it were there when the device was restored: the relay may have had them from
  /// its former life, under numbers that are not known here.
  var restoredBelow: Int64 = 0
  /// Whether any number was given up of which statements tell.
  var hasVoids = false
  /// Whether the signer was asked, and has not answered.
  var isAsking = false
  /// Why the signer did not sign, and until when it is left alone, by the time since the device's
  /// start.
  private(set) var failure: (reason: String, until: Int64)?
  private var backoff: Backoff

  init(_ sending: Sending) { backoff = Backoff(sending.backoff) }

  /// Whether the signer may be asked.
  func mayAsk(at nowMs: Int64) -> Bool { failure.map { nowMs >= $0.until } ?? true }

  /// The signer has not signed.
  ///
  /// - Returns: When it is asked again.
  mutating func failed(_ reason: String, at nowMs: Int64, random: UInt64) -> Int64 {
    let until = nowMs + backoff.next(random: random)
    failure = (reason, until)
    return until
  }

  /// The signer has signed all that it was asked for.
  mutating func signed() {
    failure = nil
    backoff.reset()
  }

  /// Somebody wants it tried now.
  mutating func wake() { failure?.until = 0 }
}

/// What is to be signed of an item.
struct SigningTask: Sendable, Equatable {
  let item: Int64
  let sequence: UInt64
  /// The header and the payload of the JWS.
  let message: [UInt8]
}
