/// What has been cancelled of one client's backlog, all in one commit.
package struct ClearedBacklog: Sendable, Equatable {
  /// One that was cancelled.
  package struct Item: Sendable, Equatable {
    /// Its number.
    package var serial: Serial
    /// The lane that it stood in.
    package var lane: LaneNumber
    /// Where it was to go.
    package var upstream: UpstreamNumber
    /// Whether it waited for sequence numbers before its own.
    package var isParked: Bool

    /// Names one; see the properties for what each part means.
    package init(
      serial: Serial, lane: LaneNumber, upstream: UpstreamNumber, isParked: Bool = false
    ) {
      self.serial = serial
      self.lane = lane
      self.upstream = upstream
      self.isParked = isParked
    }
  }

  /// Whose backlog it was.
  package var client: ClientNumber
  /// What was cancelled, by growing numbers.
  package private(set) var items: [Item] = []

  /// Nothing yet of a client's.
  package init(client: ClientNumber) { self.client = client }

  /// Adds one whose number is greater than all that are there.
  package mutating func append(_ item: Item) { items.append(item) }

  /// Adds what was cancelled by another call within the same commit.
  package mutating func merge(_ other: ClearedBacklog) {
    items = (items + other.items).sorted { $0.serial < $1.serial }
  }

  /// Whether this one was cancelled.
  package func contains(_ serial: Serial) -> Bool {
    var low = 0
    var high = items.count
    while low < high {
      let middle = (low + high) / 2
      if items[middle].serial < serial { low = middle + 1 } else { high = middle }
    }
    return low < items.count && items[low].serial == serial
  }
}

/// What is to be left alone when all that waits of a client is cancelled.
package struct SparedEnvelopes: Sendable, Equatable {
  /// Those of which an attempt is under way.
  package var inFlight: Set<Serial>
  /// Those of which a change is on its way to the disk.
  package var changing: Set<Serial>

  /// Names them.
  package init(inFlight: Set<Serial> = [], changing: Set<Serial> = []) {
    self.inFlight = inFlight
    self.changing = changing
  }

  /// Whether this one is left alone.
  package func contains(_ serial: Serial) -> Bool {
    inFlight.contains(serial) || changing.contains(serial)
  }
}

/// What came of ``EnvelopeStore/cancelAll(of:through:reason:)``.
package struct ClearingReport: Sendable, Equatable {
  /// How many were cancelled.
  package var count: Int
  /// How many were left alone since a change of theirs was on its way to the disk: to be asked for
  /// again.
  package var changingCount: Int
  /// Everything up to this number was looked at.
  package var scannedThrough: Serial

  /// Puts a report together.
  package init(count: Int, changingCount: Int, scannedThrough: Serial) {
    self.count = count
    self.changingCount = changingCount
    self.scannedThrough = scannedThrough
  }
}
