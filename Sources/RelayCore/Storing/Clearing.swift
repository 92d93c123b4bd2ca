/// What of a client's waiting envelopes is to be cancelled together.
///
/// A lane that is not known, and a tag that nothing has, select nothing.
package struct BacklogSelection: Sendable, Equatable {
  /// The client.
  package var client: ClientNumber
  /// The name of the lane that they wait in; nil for any.
  package var lane: String?
  /// The tag that they have; nil for any, and for none.
  package var tag: String?

  /// Selects everything that waits of a client, or what of it is in this lane and has this tag.
  package init(_ client: ClientNumber, lane: String? = nil, tag: String? = nil) {
    self.client = client
    self.lane = lane
    self.tag = tag
  }
}

/// The envelopes of one client's backlog that were cancelled in one commit.
package struct ClearedBacklog: Sendable, Equatable {
  /// A cancelled envelope.
  package struct Item: Sendable, Equatable {
    /// Its number.
    package var serial: Serial
    /// The lane that it stood in.
    package var lane: LaneNumber
    /// The upstream that it was to go to.
    package var upstream: UpstreamNumber
    /// When it was accepted, if it waited for sequence numbers before its own; else nil.
    package var parkedSince: WallTime?
    /// Whether it waited for sequence numbers before its own.
    package var isParked: Bool { parkedSince != nil }

    /// Describes a cancelled envelope; see the properties for what each part means.
    package init(
      serial: Serial, lane: LaneNumber, upstream: UpstreamNumber,
      parkedSince: WallTime? = nil
    ) {
      self.serial = serial
      self.lane = lane
      self.upstream = upstream
      self.parkedSince = parkedSince
    }
  }

  /// The client.
  package var client: ClientNumber
  /// The cancelled envelopes, by ascending numbers.
  package private(set) var items: [Item] = []

  /// Starts with none.
  package init(client: ClientNumber) { self.client = client }

  /// Adds an envelope whose number is greater than all that are there.
  package mutating func append(_ item: Item) { items.append(item) }

  /// Adds the envelopes that another call cancelled within the same commit.
  package mutating func merge(_ other: ClearedBacklog) {
    items = (items + other.items).sorted { $0.serial < $1.serial }
  }

  /// Whether this envelope was cancelled.
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

/// The envelopes that are left alone when a client's backlog, or a part of it, is cancelled.
package struct SparedEnvelopes: Sendable, Equatable {
  /// Envelopes that are being attempted.
  package var inFlight: Set<Serial>
  /// Envelopes of which a change is on its way to the disk.
  package var changing: Set<Serial>

  /// Names them.
  package init(inFlight: Set<Serial> = [], changing: Set<Serial> = []) {
    self.inFlight = inFlight
    self.changing = changing
  }

  /// Whether this envelope is left alone.
  package func contains(_ serial: Serial) -> Bool {
    inFlight.contains(serial) || changing.contains(serial)
  }
}

/// The result of ``EnvelopeStore/cancelAll(of:through:reason:)``.
package struct ClearingReport: Sendable, Equatable {
  /// The number of cancelled envelopes.
  package var count: Int
  /// The number of envelopes left alone since a change of theirs was on its way to the disk; the
  /// caller asks again for them.
  package var changingCount: Int
  /// The number up to which the line was looked at.
  package var scannedThrough: Serial

  /// Puts a report together.
  package init(count: Int, changingCount: Int, scannedThrough: Serial) {
    self.count = count
    self.changingCount = changingCount
    self.scannedThrough = scannedThrough
  }
}
