extension TokenRecord {
  /// How a client may renew its token: have another secret for it, which ends later.
  ///
  /// A token has two secrets at most: the last one, and the one in whose place it came, which stays
  /// good until its own end or until the token is renewed once more. So a client that has not seen
  /// the answer still gets in.
  package struct Renewal: Hashable, Sendable {
    /// The time past which no renewal goes.
    package var until: WallTime
    /// How long each secret is good, in milliseconds.
    package var spanMs: Int64
    /// The last renewal; nil before the first.
    package var last: Last?

    /// Leave to renew a token.
    package init(until: WallTime, spanMs: Int64, last: Last? = nil) {
      self.until = until
      self.spanMs = spanMs
      self.last = last
    }

    /// What a renewal leaves behind.
    package struct Last: Hashable, Sendable {
      /// How many there were, this one included.
      package var number: Int64
      /// When it was.
      package var at: WallTime
      /// What the new secret was made of, together with the former one.
      package var seed: [UInt8]
      /// SHA-256 of the former secret.
      package var formerDigest: [UInt8]
      /// When the former secret ends.
      package var formerExpiresAt: WallTime

      /// Puts a renewal together.
      package init(
        number: Int64, at: WallTime, seed: [UInt8], formerDigest: [UInt8],
        formerExpiresAt: WallTime
      ) {
        self.number = number
        self.at = at
        self.seed = seed
        self.formerDigest = formerDigest
        self.formerExpiresAt = formerExpiresAt
      }
    }
  }

  /// What becomes of the wish to renew a token.
  package enum RenewalVerdict: Hashable, Sendable {
    /// Another secret, good until then.
    case renew(until: WallTime)
    /// Nobody has allowed it.
    case notAllowed
    /// It does not end by itself.
    case endless
    /// It cannot go any further than it does.
    case exhausted(WallTime)
  }

  /// How many times it was renewed.
  package var renewalCount: Int64 { renewal?.last?.number ?? 0 }

  /// Decides whether its last secret may be renewed, and until when the next one is good.
  ///
  /// No renewal makes it end sooner, be it that the clock was set back.
  package func renewalVerdict(at now: WallTime) -> RenewalVerdict {
    guard let expiresAt else { return .endless }
    guard let renewal else { return .notAllowed }
    guard expiresAt < renewal.until else { return .exhausted(expiresAt) }
    let end = min(now.adding(milliseconds: renewal.spanMs), renewal.until)
    return .renew(until: max(expiresAt, end))
  }

  /// The token with another secret.
  ///
  /// - Precondition: ``renewalVerdict(at:)`` allows it.
  package func renewed(
    until end: WallTime, digest: [UInt8], seed: [UInt8], at now: WallTime
  ) -> TokenRecord {
    guard let expiresAt, renewal != nil else { preconditionFailure("it cannot be renewed") }
    var record = self
    record.renewal?.last = Renewal.Last(
      number: renewalCount + 1, at: now, seed: seed, formerDigest: self.digest,
      formerExpiresAt: expiresAt)
    record.digest = digest
    record.expiresAt = end
    return record
  }
}

extension TokenRecord.Renewal {
  /// Reads what a row of a store has of it; nil for a token that may not be renewed.
  ///
  /// - Parameter fault: What is thrown where a part is there without the others.
  package static func stored(
    until: Int64?, spanMs: Int64?, number: Int64?, at: Int64?, seed: [UInt8]?,
    formerDigest: [UInt8]?, formerExpiresAt: Int64?, or fault: @autoclosure () -> StoreError
  ) throws(StoreError) -> Self? {
    let hasLast = [number != nil, at != nil, seed != nil, formerDigest != nil]
    guard hasLast.allSatisfy({ $0 == (formerExpiresAt != nil) }),
      (until == nil) == (spanMs == nil), until != nil || number == nil
    else { throw fault() }
    guard let until, let spanMs else { return nil }
    var renewal = Self(until: WallTime(millisecondsSinceEpoch: until), spanMs: spanMs)
    if let number, let at, let seed, let formerDigest, let formerExpiresAt {
      renewal.last = Last(
        number: number, at: WallTime(millisecondsSinceEpoch: at), seed: seed,
        formerDigest: formerDigest,
        formerExpiresAt: WallTime(millisecondsSinceEpoch: formerExpiresAt))
    }
    return renewal
  }
}
