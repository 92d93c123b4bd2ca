/// One row of what is kept, without its body.
struct KeptItem: Sendable {
  var id: Int64
  var lane: LaneNumber
  var state: ItemState
  /// Whether the relay has it, so that it stands in the device's own line no more.
  var isHanded = false
  var sequence: UInt64?
  var key: String
  var tag: String?
  var coalesce: String?
  var bodyKind: BodyKind
  /// The bytes of the body.
  var bodyBytes: Int64
  /// What it takes of the limits.
  var bytes: Int64
  /// When it was enqueued.
  var enqueuedAt: Moment
  var expiresMs: Int64?
  var notBeforeMs: Int64?
  var onRefusal: OnRefusal?
  var attempts: Int
  var relayID: String?
  var error: RecordedError?
  var refuser: Refuser?
  /// The version of a command; nil for a request.
  var commandVersion: Int?
  /// Where its body is being uploaded to; nil if it is not.
  var upload: String?
  var userData: [UInt8]
  /// The lane's name at the relay, from the first post on.
  var relayLane: String?
  /// How often the upstream has answered that it is to be tried again.
  var answers = 0
}

/// The request of an item.
struct KeptRequest: Sendable, Equatable {
  var upstream: String?
  var method: String
  var path: String
  var headers: [HeaderLine]
}

/// One header field.
struct HeaderLine: Sendable, Equatable {
  var name: String
  var value: String
}

/// The body of an item.
enum KeptBody: Sendable, Equatable {
  case none
  case bytes([UInt8])
  /// In this file; without checksums it was kept by an earlier version.
  case file(path: String, count: Int64, FileSums?)
}

/// An item that is over.
struct KeptEnding: Sendable {
  var id: Int64
  var key: String
  var lane: LaneNumber
  var tag: String?
  var sequence: UInt64?
  var kind: EndingKind
  var response: Response?
  var error: RecordedError?
  var attempts: Int
  var bytes: Int64
  var enqueuedWallMs: Int64
  var userData: [UInt8]

  /// What the app is told.
  var outcome: Outcome {
    switch kind {
    case .delivered: .delivered(response)
    case .refused: .refused(response, error ?? RecordedError(id: "refused", message: "refused"))
    case .expired: .expired
    case .cancelled: .cancelled
    case .unknown: .unknown(error ?? .forgottenByRelay)
    }
  }
}

/// The database's number of a lane.
struct LaneNumber: Hashable, Sendable, Comparable {
  let raw: Int64

  static func < (left: LaneNumber, right: LaneNumber) -> Bool { left.raw < right.raw }
}

/// What is kept of a lane.
struct KeptLane: Sendable, Equatable {
  let number: LaneNumber
  let name: String
  /// The number that the next item of it is given.
  var next: UInt64 = 1
  /// The items that are not over.
  var items: Int = 0
  /// Their bytes.
  var bytes: Int64 = 0
  /// Those of them that the relay does not have.
  var line: Int = 0
  /// Whether the app has paused it.
  var isPaused = false
}
