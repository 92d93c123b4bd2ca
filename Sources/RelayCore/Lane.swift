/// A lane with waiting envelopes, as the scheduler sees it.
///
/// Only the first of its envelopes are in memory: the ``window``. A backlog of millions costs disk;
/// when the window runs empty, it is filled again from the line.
package struct Lane: Sendable {
  /// What the lane is doing.
  package enum Phase: Sendable, Equatable {
    /// The head is not in memory yet.
    case starved
    /// The head waits for a slot of its upstream.
    case ready
    /// The head waits until a time.
    case waiting(until: MonotonicTime)
    /// Nothing stands in the lane: what waits does so for sequence numbers that are missing.
    case parked
    /// The head is held until someone runs it.
    case held
    /// The head was refused, and stands until someone resolves it.
    case blocked
    /// The head's upstream is not configured.
    case unconfigured
    /// Somebody has paused the lane, or its client.
    case paused
    /// The head is being attempted.
    case inFlight
    /// What became of the head is on its way to the disk.
    case recording
    /// What became of the head cannot be written, since the store is damaged there: the lane stands
    /// until the relay starts anew, or a change of the head can be written after all.
    case unwritable
  }

  /// Whose lane it is.
  package let client: ClientNumber
  /// In which order its envelopes take their turns.
  package let order: LaneOrder
  /// The first envelopes, in order; empty only while ``Phase/starved`` or ``Phase/parked``.
  package internal(set) var window = Deque<LineEntry>()
  /// How many envelopes wait in all, those behind the window and those that are parked included.
  package internal(set) var waiting = 0
  /// How many of them are parked: they wait for sequence numbers before their own.
  package internal(set) var parked = 0
  /// What it is doing.
  package internal(set) var phase: Phase = .starved
  /// Failures of the present head in a row, for its backoff; those met while the upstream was
  /// unreachable do not count.
  ///
  /// In a ``LaneOrder/latest`` lane a new head takes them over.
  package internal(set) var failuresInARow = 0

  /// The envelope of which, as the head, not even its quarantine could be written.
  var unwritable: Serial?
  /// Every envelope up to this rank is in the window or has left the lane.
  var seenThrough: Rank
  /// The greatest rank that this lane has had.
  var lastRank: Rank
  /// Until when attempts at an upstream wait, whichever envelope is the head: only in a
  /// ``LaneOrder/latest`` lane, where else each new one would be tried at once.
  var backoffs: [UpstreamNumber: WallTime] = [:]
  /// When the timer of this lane rings; ``noTimer`` if none is set.
  ///
  /// Never late for what it waits for; any other timer of the lane is an old one.
  var timerAt = Lane.noTimer
  /// The sweep that came by an envelope without putting it into the window; later ones of that
  /// sweep are left as well.
  var fullInSweep = 0

  /// What ``timerAt`` is where no timer is set: an optional would make every lane larger.
  static let noTimer = MonotonicTime(nanoseconds: .max)

  /// A lane of which nothing waits that is not seen.
  init(client: ClientNumber, order: LaneOrder, seenThrough: Rank) {
    self.client = client
    self.order = order
    self.seenThrough = seenThrough
    lastRank = seenThrough
  }

  /// How many envelopes stand in the lane, those that are parked left out.
  var standingCount: Int { waiting - parked }

  /// Whether the head is being attempted, or a change of it is on its way to the disk or cannot get
  /// there.
  var isUnderWay: Bool { phase == .inFlight || phase == .recording || phase == .unwritable }

  /// Whether it waits for anything that may be attempted.
  var isEmptyHanded: Bool { phase == .starved || phase == .parked }

  /// Whether every waiting envelope that is not parked is in the window.
  var isWhole: Bool { seenThrough == lastRank }

  /// Takes in an envelope that was accepted after all others.
  ///
  /// In a ``LaneOrder/latest`` lane it always goes into the window, which then may have to be
  /// trimmed.
  ///
  /// - Parameters:
  ///   - sweep: The walk that is under way, which may have passed this envelope by already.
  ///   - hasRoom: Whether a window may be longer than the least that every lane may hold.
  /// - Returns: Whether it went into the window.
  mutating func admit(_ entry: LineEntry, during sweep: Sweep?, hasRoom: Bool, windowMin: Int)
    -> Bool
  {
    let rank = order.rank(of: entry.serial)
    waiting += 1
    guard rank > seenThrough else {
      guard place(of: entry.serial) == nil else {
        // A page that was read after its commit has shown it before the store could tell of it.
        lastRank = max(lastRank, rank)
        return false
      }
      insert(entry)
      return true
    }
    let fits = isWhole && (hasRoom || window.count < windowMin)
    if fits {
      window.append(entry)
      seenThrough = rank
    } else if let sweep, sweep.order == order, rank > seenThrough, rank <= sweep.scannedThrough {
      fullInSweep = sweep.number
    }
    lastRank = max(lastRank, rank)
    return fits
  }

  /// Nothing waits behind the window.
  mutating func noteEnd() { seenThrough = lastRank }

  /// Takes in an envelope that a walk along the line came by.
  ///
  /// - Returns: Whether it went into the window.
  mutating func take(
    _ entry: LineEntry, in sweep: Sweep, hasRoom: Bool, windowMin: Int
  ) -> Bool {
    let rank = order.rank(of: entry.serial)
    guard order == sweep.order, seenThrough >= sweep.start, rank > seenThrough,
      fullInSweep != sweep.number
    else { return false }
    guard head?.serial != entry.serial else {
      // It was under way while the window was cut short before it.
      seenThrough = rank
      return false
    }
    guard hasRoom || window.count < windowMin else {
      fullInSweep = sweep.number
      return false
    }
    window.append(entry)
    seenThrough = rank
    return true
  }

  /// Something was put back into a lane in which nothing stood.
  mutating func noteOnlyOne(_ serial: Serial) {
    seenThrough = max(seenThrough, order.rank(of: serial))
    lastRank = max(lastRank, order.rank(of: serial))
  }

  /// The envelope whose turn it is.
  package var head: LineEntry? { window.first }

  /// Whether a walk that came to the end of the line would have found what waits here.
  func isGone(after sweep: Sweep) -> Bool {
    lastRank <= sweep.scannedThrough && seenThrough >= sweep.start && fullInSweep != sweep.number
  }

  /// The place of an envelope in the window, counted from 0; nil if it is not there.
  ///
  /// Ranks grow along the window, so that halving finds it; only the head may be out of order, if
  /// it was under way when one came that goes before it.
  func place(of serial: Serial) -> Int? {
    if window.first?.serial == serial { return 0 }
    let low = firstPlace(notBefore: order.rank(of: serial), from: 1)
    return low < window.count && window[low].serial == serial ? low : nil
  }

  /// The first place, from one on, whose rank is not below this one.
  func firstPlace(notBefore rank: Rank, from first: Int) -> Int {
    var low = min(first, window.count)
    var high = window.count
    while low < high {
      let middle = (low + high) / 2
      if order.rank(of: window[middle].serial) < rank { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
