/// An HTTP request on its way to the upstream.
public struct Request: Sendable {
  /// The method; not `CONNECT`, `TRACE` or `TRACK`.
  public var method: String
  /// Path and query, from the leading slash, percent-encoded.
  public var path: String
  /// The relay's name for the service that it goes to; nil for the relay's default one.
  ///
  /// Without a relay there is one upstream, and this must be nil.
  public var upstream: String?
  /// The header fields, in their order.
  ///
  /// `Host`, `Content-Length`, `Via`, the fields of the connection and `Waystation-*` are not the
  /// sender's.
  public var headers: [(String, String)]
  /// The body.
  public var body: Body

  /// A request.
  public init(
    _ method: String = "POST", _ path: String, _ body: Body = .none, upstream: String? = nil,
    headers: [(String, String)] = []
  ) {
    self.method = method
    self.path = path
    self.body = body
    self.upstream = upstream
    self.headers = headers
  }
}

/// The body of a request.
public enum Body: Sendable {
  /// No body.
  case none
  /// These bytes, of this media type.
  case bytes([UInt8], type: String)
  /// The file at this path, of this media type.
  ///
  /// It is taken over when the item is enqueued: what becomes of the file afterwards changes
  /// nothing.
  case file(path: String, type: String, mode: FileMode)

  /// JSON that is already written.
  public static func json(_ text: String) -> Body {
    .bytes(Array(text.utf8), type: "application/json")
  }
}

/// How a file becomes the outbox's own.
public enum FileMode: Sendable {
  /// It is copied, sharing its blocks where the file system can.
  case copy
  /// It is moved; it must lie on the same file system as the outbox's folder.
  case move
  /// A second name is given to it; nobody may write it afterwards.
  ///
  /// It must lie on the same file system as the outbox's folder.
  case link
}

/// What is said of an item beside its request.
public struct Options: Sendable {
  /// The item's own name, by which repeats are recognised everywhere: 1 to 128 visible ASCII
  /// characters.
  ///
  /// Nil for one that the outbox makes (a UUIDv7). The upstream is told it as `Idempotency-Key`.
  ///
  /// A key that is known with the same request is the same item, also after it has ended; with
  /// another request it throws ``EnqueueError/keyConflict(_:)``.
  public var key: String?
  /// The lane that it stands in.
  public var lane: Lane
  /// The word to find it by.
  public var tag: Tag?
  /// Whether it waits until ``Outbox/release(_:)``; the items behind it in a strict lane wait too.
  public var hold: Bool
  /// The name under which a later item of the lane takes this one's place, as long as it has not
  /// been sent.
  public var coalesce: String?
  /// How long after now it is worth nothing any more; nil for no end.
  public var expires: Duration?
  /// How long after now it may be sent at the earliest.
  public var notBefore: Duration?
  /// What becomes of its lane if it is refused; nil for what the lane's settings say.
  public var onRefusal: OnRefusal?
  /// The app's own bytes, kept beside it and never sent.
  public var userData: [UInt8]

  /// Options; those that are left out have their usual values.
  public init(
    key: String? = nil, lane: Lane = .default, tag: Tag? = nil, hold: Bool = false,
    coalesce: String? = nil, expires: Duration? = nil, notBefore: Duration? = nil,
    onRefusal: OnRefusal? = nil, userData: [UInt8] = []
  ) {
    self.key = key
    self.lane = lane
    self.tag = tag
    self.hold = hold
    self.coalesce = coalesce
    self.expires = expires
    self.notBefore = notBefore
    self.onRefusal = onRefusal
    self.userData = userData
  }
}

/// A change of an item that waits.
public struct Change: Sendable {
  /// What takes the place of its request; nil to leave it.
  ///
  /// It goes under the same key, and so to the upstream under the same `Idempotency-Key`. In an
  /// evidence lane the relay changes no request that it has: ``ChangeError/relay(problem:)``.
  public var request: Request?
  /// Whether it is held; nil to leave that.
  public var hold: Bool?
  /// How long after now it is worth nothing any more; nil to leave that.
  public var expires: Duration?

  /// A change; what is left out stays as it is.
  public init(request: Request? = nil, hold: Bool? = nil, expires: Duration? = nil) {
    self.request = request
    self.hold = hold
    self.expires = expires
  }
}
