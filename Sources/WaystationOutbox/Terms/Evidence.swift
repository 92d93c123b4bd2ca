/// What shows to others what has become of an item of an evidence lane, without the relay.
public struct Evidence: Sendable, Equatable {
  /// The lane.
  public let lane: Lane
  /// The item's number in it.
  public let sequence: UInt64
  /// The item's key.
  public let key: String
  /// The SHA-256 of what receipts and ledger cover of the item: `H(item(n))` in `docs/receipts.md`.
  public let digest: [UInt8]
  /// The receipts that speak of the number, the latest one first.
  public let receipts: [Receipt]
  /// How it has ended, as the relay has signed it; nil while it has not.
  public let ending: SignedEnding?
}

/// How an item has ended, as the relay's ledger has it, signed.
public struct SignedEnding: Sendable, Equatable {
  /// An end.
  public enum State: String, Sendable, Hashable {
    case delivered, failed, expired, cancelled
  }

  /// The end.
  public let state: State
  /// The status of the upstream's last answer; nil if there was none.
  public let status: Int?
  /// The SHA-256 of that answer's body, as far as the relay has kept it; nil if it does not say.
  public let responseDigest: [UInt8]?
  /// When it ended, by the relay's clock.
  public let at: Instant
  /// The page of the ledger on which it stands, as the relay has given it: lines of JSON, which
  /// `waystation audit-lane --ledger` takes.
  public let page: String
}
