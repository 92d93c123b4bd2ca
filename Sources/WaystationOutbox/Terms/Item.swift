/// A request that the outbox keeps, as it is just now.
public struct Item: Sendable, Identifiable {
  /// The item's number on this device.
  ///
  /// Later items have higher ones.
  public struct ID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number.
    public let raw: Int64

    /// The item of this number, as an app has kept it.
    public init(raw: Int64) { self.raw = raw }

    /// Whether the left one was enqueued earlier.
    public static func < (left: ID, right: ID) -> Bool { left.raw < right.raw }

    /// The number in digits.
    public var description: String { "\(raw)" }
  }

  /// Where an item is on its way.
  public enum State: Sendable {
    /// It waits until ``Outbox/release(_:)``.
    case held
    /// It waits for its turn, and can still be changed.
    case waiting
    /// It has been put into a post, and nobody has answered yet.
    case sending(Progress)
    /// The relay has it, under this id.
    ///
    /// It waits there for the upstream.
    case atRelay(id: String)
    /// The upstream or the relay has refused it, or the app has recorded an error, and its lane
    /// stands until ``Outbox/resolve(_:_:)``.
    case blocked
    /// The app died several times in a row while this item was being prepared.
    ///
    /// It is left alone until ``Outbox/resolve(_:_:)``.
    case quarantined
    /// It is over.
    case ended(Outcome)
  }

  /// The item's number.
  public let id: ID
  /// Its own name, by which repeats are recognised.
  public let key: String
  /// The lane that it stands in.
  public let lane: Lane
  /// Its tag.
  public let tag: Tag?
  /// Its number in its lane at the relay; nil until it is first put into a post, and without a
  /// relay.
  public let sequence: UInt64?
  /// Where it is.
  public let state: State
  /// How often it was put into a post, or sent to the upstream.
  public let attempts: Int
  /// The error that was last recorded; nil if there is none, or it was resolved.
  public let lastError: RecordedError?
  /// The bytes that it takes of the outbox's limits: its request and its user data.
  public let bytes: Int64
  /// When it was enqueued, by the device's clock.
  public let enqueuedAt: Instant
  /// The app's own bytes.
  public let userData: [UInt8]
}

/// How far a transfer has come, in bytes of the body.
public struct Progress: Sendable, Equatable {
  /// What has been sent.
  public let sent: Int64
  /// All that is to be sent; nil if that is not known.
  public let total: Int64?
  /// What has been received of the answer.
  public let received: Int64

  /// A state of a transfer.
  public init(sent: Int64, total: Int64?, received: Int64) {
    self.sent = sent
    self.total = total
    self.received = received
  }
}
