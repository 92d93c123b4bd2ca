/// What the rules of changes ask a store.
///
/// All questions are about single envelopes by number, so a store behind a network reads the
/// answers for all changes of a transaction by one query for each table.
package protocol ChangeFacts {
  /// The place of a waiting envelope; nil if it does not wait.
  func waiting(_ serial: Serial) throws(StoreError) -> WaitingPlace?

  /// The end of an envelope; nil if it has not ended, or is not kept any more.
  func end(of serial: Serial) throws(StoreError) -> StoredEnd?

  /// Whether an envelope has a sequence number that its lane has not come to yet.
  func isAheadOfGap(_ serial: Serial) throws(StoreError) -> Bool
}

/// A waiting envelope's place in the line, as far as changes depend on it.
package struct WaitingPlace: Equatable, Sendable {
  /// The client that sent it.
  package var client: ClientNumber
  /// Whether it may be attempted.
  package var standing: Standing
  /// The number of recorded attempts.
  package var attempts: Int64
  /// Whether the upstream may have it already.
  package var isInDoubt: Bool
  /// The bytes that it counts for in its client's quota.
  package var bytes: Int64

  /// Puts the parts together.
  package init(
    client: ClientNumber, standing: Standing, attempts: Int64, isInDoubt: Bool, bytes: Int64
  ) {
    self.client = client
    self.standing = standing
    self.attempts = attempts
    self.isInDoubt = isInDoubt
    self.bytes = bytes
  }
}

/// The end of an envelope, as far as changes depend on it.
package struct StoredEnd: Equatable, Sendable {
  /// How it ended.
  package var state: EnvelopeState
  /// The number of recorded attempts.
  package var attempts: Int64
  /// Whether the upstream may have it.
  package var isInDoubt: Bool
  /// The number under which its client is told of the end; nil if it is not told.
  package var ending: EndingNumber?
  /// When it ended.
  package var at: WallTime
  /// Whether an attempt led to the end.
  package var isTried: Bool

  /// Puts the parts together.
  package init(
    state: EnvelopeState, attempts: Int64, isInDoubt: Bool, ending: EndingNumber?, at: WallTime,
    isTried: Bool
  ) {
    self.state = state
    self.attempts = attempts
    self.isInDoubt = isInDoubt
    self.ending = ending
    self.at = at
    self.isTried = isTried
  }
}

extension EndChange {
  /// Tells that the end of an envelope is not on record any more as it was.
  ///
  /// - Parameter entry: The place that the envelope had, or is to have, with the upstream that it
  ///   was for.
  package init(of entry: LineEntry, _ end: StoredEnd, _ result: Result) {
    self.init(
      serial: entry.serial, lane: entry.lane, upstream: entry.upstream, state: end.state,
      endedAt: end.at, isTried: end.isTried, result: result)
  }
}
