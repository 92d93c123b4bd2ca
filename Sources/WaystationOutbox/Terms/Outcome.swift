/// What came of an item.
public enum Outcome: Sendable {
  /// The upstream has taken it.
  ///
  /// Its answer is there if it was small enough to come along.
  case delivered(Response?)
  /// The upstream or the relay has refused it: as it is, it would be refused again.
  ///
  /// The answer is nil where the item waits for somebody, as one does that blocks its lane: the
  /// error has the words. So it is where the relay itself has refused it, and where the upstream's
  /// answer was too large to come along.
  case refused(Response?, RecordedError)
  /// There is no connection just now.
  ///
  /// The item is kept, and goes by itself.
  case connection(ConnectionFailure)
  /// Its time was over before it was taken.
  case expired
  /// It was taken back, or another item took its place.
  case cancelled
  /// The relay had it, and nobody knows any more how it ended: the device was away for longer than
  /// the relay remembers, or the relay was restored from an older backup.
  case unknown(RecordedError)
  /// Nothing is known yet.
  ///
  /// The item is kept, and goes by itself.
  case stillWaiting(Item.ID)
}

/// The upstream's answer.
public struct Response: Sendable {
  /// The status.
  public let status: Int
  /// The header fields.
  public let headers: [(String, String)]
  /// The body, or its beginning.
  public let body: [UInt8]
  /// Whether the body goes on where `body` ends.
  public let isCut: Bool

  /// An answer.
  public init(status: Int, headers: [(String, String)], body: [UInt8], isCut: Bool = false) {
    self.status = status
    self.headers = headers
    self.body = body
    self.isCut = isCut
  }

  /// The value of the first field of this name; case does not matter.
  public func header(_ name: String) -> String? {
    let wanted = name.lowercased()
    return headers.first { $0.0.lowercased() == wanted }?.1
  }
}

/// Why nobody has answered.
public struct ConnectionFailure: Error, Sendable, Equatable {
  /// In words, for a log.
  public let reason: String
  /// Whether the request may have been taken all the same.
  public let mayHaveArrived: Bool
  /// When it is tried again at the latest, as far as that is known.
  public let retryAt: Instant?

  /// A failure.
  public init(reason: String, mayHaveArrived: Bool, retryAt: Instant? = nil) {
    self.reason = reason
    self.mayHaveArrived = mayHaveArrived
    self.retryAt = retryAt
  }
}

/// An error that is recorded with an item, for a person to see.
public struct RecordedError: Error, Sendable, Equatable {
  /// Which error it is, for the app: the problem's type, the upstream's `errorId`, or the app's
  /// own.
  public let id: String
  /// In words.
  public let message: String

  /// An error.
  public init(id: String, message: String) {
    self.id = id
    self.message = message
  }
}

/// What becomes of an item that needs somebody.
public enum Resolution: Sendable {
  /// It is sent again, changed if need be; under the same key, as ``Change/request`` says.
  case retry(Change? = nil)
  /// It is given up.
  ///
  /// What the relay has ends as ``Outcome/refused(_:_:)``, and what only the device has as
  /// ``Outcome/cancelled``.
  case discard(reason: String)
}

/// Which items are meant.
public enum Filter: Sendable {
  /// All.
  case all
  /// Those of a lane.
  case lane(Lane)
  /// Those of a tag.
  case tag(Tag)
  /// Those whose tags belong to this collection of ``Settings/collections``.
  case collection(String)
  /// These.
  case ids(Set<Item.ID>)
  /// Those that are blocked or quarantined.
  case needsAttention
}
