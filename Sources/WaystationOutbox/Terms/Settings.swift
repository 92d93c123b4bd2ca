/// All that an outbox is told when it is opened.
public struct Settings: Sendable {
  /// The folder of the database, the bodies and the lock.
  ///
  /// It is the outbox's own.
  public var folder: String
  /// The folder into which other processes drop items with a ``Mailbox``; nil for none.
  public var mailbox: String?
  /// Where items go.
  public var destination: Destination
  /// The settings of lanes; a lane that is not named here has the usual ones.
  public var lanes: [Lane: LaneSettings] = [:]
  /// Names for sets of tags, to run and to list their items together.
  public var collections: [String: Set<Tag>] = [:]
  /// Whether nothing is sent until ``Outbox/resume(_:)``.
  public var startPaused = false
  /// How much is kept.
  public var limits = Limits()
  /// How it is sent.
  public var sending = Sending()
  /// When an item is safe.
  public var durability = Durability.full
  /// What carries requests.
  public var transport: any Transport
  /// What requests are signed in with.
  public var credentials: any Credentials = NoCredentials()
  /// What knows of the connection.
  public var reachability: any Reachability = AlwaysOpen()
  /// What says whether an item is ready.
  public var readiness: any Readiness = AlwaysReady()
  /// What verifies the relay's receipts; nil for a device that asks for none.
  ///
  /// A lane with ``Custody/receipt`` needs it.
  public var verifier: (any ReceiptVerifier)?
  /// What signs each item of the lanes that are ``LaneSettings/signed``, for an upstream that need
  /// not trust the relay; nil for nothing.
  ///
  /// It needs ``verifier``, for the digests, and a relay. A lane that was signed waits while there
  /// is none, unless it is not ``LaneSettings/signed`` any more.
  public var signer: (any HeadSigner)?
  /// The time and randomness.
  public var clock: any OutboxClock = SystemClock()

  /// Settings with usual values.
  public init(folder: String, destination: Destination, transport: any Transport) {
    self.folder = folder
    self.destination = destination
    self.transport = transport
  }
}

/// Where items go.
public enum Destination: Sendable, Equatable {
  /// To a Waystation relay at this base URL.
  ///
  /// `client` is this device's name there: 1 to 128 visible ASCII characters. Where a token or a
  /// certificate says who the device is, it must be the same name.
  ///
  /// `pins` are the keys of the relay whose receipts are trusted, with the keys that they have
  /// signed. Without any, the first keys that the relay shows are trusted from then on.
  case relay(base: String, client: String, pins: [KeyID] = [])
  /// Straight to the upstream at this base URL.
  case direct(base: String)
}

/// How a lane behaves.
public struct LaneSettings: Sendable, Equatable {
  /// When the device's own copy of a body goes.
  ///
  /// Not every relay makes receipts, so it is ``Custody/accepted`` unless somebody says otherwise.
  public var custody = Custody.accepted
  /// Whether how each item has ended is taken only with the relay's signature.
  ///
  /// The relay has to keep a ledger of the lane, which its configuration says (`evidence` in
  /// `lanes`). An item is over once its row of that ledger was fetched, verified, and held against
  /// what was sent; until then its body stays, whatever ``custody`` says. What was signed is kept
  /// as long as the item's ending: ``Outbox/evidence(_:)``.
  ///
  /// It needs ``Settings/verifier``, a relay, and ``Order/strict``.
  public var evidence = false
  /// What becomes of the lane if an item is refused.
  public var onRefusal = OnRefusal.block
  /// The order in which its items go.
  public var order = Order.strict
  /// Whether its items are signed, if there is a ``Settings/signer``.
  ///
  /// Only those of a lane with ``Order/strict`` can be: they have numbers.
  public var signed = true
  /// The most answers to try again, without a relay; nil for no limit.
  ///
  /// Attempts that nobody has answered do not count.
  public var attemptsMax: Int?

  /// The usual settings.
  public init() {}
}

/// When the device's own copy of an item goes.
public enum Custody: Sendable, Hashable {
  /// When the relay has answered that it is on its disk.
  case accepted
  /// When the relay has signed for it, and the receipt was verified and stored.
  ///
  /// What no receipt speaks of is kept as with ``delivered``: where the relay makes none, in a lane
  /// without strict order, and after a ``CustodyFault``.
  case receipt
  /// When the upstream has taken it, or it has ended otherwise.
  ///
  /// Receipts are asked for and kept as well, if ``Settings/verifier`` is there.
  case delivered
}

/// What becomes of a lane if one of its items is refused.
public enum OnRefusal: Sendable, Hashable {
  /// It stands until somebody resolves the item.
  case block
  /// The item is over, and the lane goes on.
  case skip
}

/// The order in which the items of a lane go.
public enum Order: Sendable, Hashable {
  /// One after the other, as they were enqueued.
  case strict
  /// The newest first.
  case latest
  /// In no order, so many at a time.
  case none(parallel: Int)
}

/// When an item is safe.
public enum Durability: Sendable, Hashable {
  /// When `enqueue` returns it is on the disk, and a power cut changes nothing about that.
  case full
  /// When `enqueue` returns it is safe from the end of the process, and a power cut may take the
  /// latest items, never one from the middle.
  case ordered
}

/// How much is kept.
public struct Limits: Sendable, Equatable {
  /// The most items that are not over.
  public var items = 1_000_000
  /// The most bytes that they take.
  public var bytes: Int64 = 1 << 30
  /// The bytes of the disk that stay free for the outbox's own work.
  public var reserveBytes: Int64 = 4 << 20
  /// The most items that are over and still known.
  public var endings = 10_000
  /// What happens at a limit.
  public var whenFull = WhenFull.refuse

  /// The usual limits.
  public init() {}
}

/// What happens at a limit.
public enum WhenFull: Sendable, Hashable {
  /// New items are refused.
  case refuse
  /// The oldest items of these lanes that have not been sent make room.
  case dropOldest(lanes: Set<Lane>)
}

/// How items are sent.
public struct Sending: Sendable, Equatable {
  /// The most items in one post.
  public var batchItems = 500
  /// The most bytes of bodies in one post.
  public var batchBytes = 4 << 20
  /// The bytes of a body from which on it is uploaded by itself, in parts that go on after a cut.
  public var uploadBytes: Int64 = 1 << 20
  /// The bytes of one part of an upload.
  public var partBytes: Int64 = 4 << 20
  /// How long items are collected before they are sent together.
  public var linger: Duration = .zero
  /// The shortest and the longest wait after a failure.
  public var backoff: ClosedRange<Duration> = .seconds(1) ... .seconds(300)
  /// The longest time of one request.
  public var timeout: Duration = .seconds(120)
  /// The most requests at a time, without a relay.
  public var parallel = 1
  /// Whether items go over connections that cost.
  public var onConstrainedNetworks = true
  /// The time between two check-ins while the relay has items; nil for none by themselves.
  ///
  /// A check-in asks what has ended, and what was refused. Each post is one as well, and while a
  /// run goes on, or somebody waits for an outcome, they come within 5 seconds. What nobody waits
  /// for is shown as ``Item/State/atRelay(id:)`` for so long: some seconds suit a screen.
  public var checkInEvery: Duration? = .seconds(900)
  /// The largest answer of the upstream that comes along with an ending, in bytes.
  public var responseBytes = 4096

  /// The usual settings.
  public init() {}
}
