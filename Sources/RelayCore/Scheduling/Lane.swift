/// A lane with waiting envelopes, as the scheduler sees it.
///
/// Only its first envelopes are in memory: the ``window``. A backlog of millions costs disk; when
/// the window runs empty, it is filled again from the line.
package struct Lane: Sendable {
  /// The state of a lane.
  package enum Phase: Sendable, Equatable {
    /// The head is not in memory yet.
    case starved
    /// The head waits for a slot of its upstream.
    case ready
    /// The head waits until a time.
    case waiting(until: MonotonicTime)
    /// Nothing stands in the lane: all its envelopes wait for missing sequence numbers.
    case parked
    /// The head is held until someone runs it.
    case held
    /// The head was refused, and stays until someone resolves it.
    case blocked
    /// The head's upstream is not configured.
    case unconfigured
    /// Somebody has paused the lane, or its client.
    case paused
    /// The head is being attempted.
    case inFlight
    /// The outcome of the head is on its way to the disk.
    case recording
    /// A change of the head cannot be written, since the store is damaged there. The lane stands
    /// until the relay restarts, or a change of the head can be written after all.
    case unwritable
  }

  /// The client that the lane belongs to.
  package let client: ClientNumber
  /// The order in which its envelopes take their turns.
  package let order: LaneOrder
  /// Whether an envelope that was to go together with others needed a request of its own.
  ///
  /// Then no more than the head is looked at next time. It stands here since it costs no room here.
  var goesOneByOne = false
  /// The first envelopes, in order; empty only while ``Phase/starved`` or ``Phase/parked``.
  package internal(set) var window = Deque<LineEntry>()
  /// The number of waiting envelopes, those behind the window and parked ones included.
  package internal(set) var waiting = 0
  /// The number of parked envelopes, which wait for sequence numbers before their own.
  package internal(set) var parked = 0
  /// The present state.
  package internal(set) var phase: Phase = .starved
  /// Failures of the present head in a row, for its backoff; failures while the upstream was
  /// unreachable do not count.
  ///
  /// In a ``LaneOrder/latest`` lane a new head takes them over.
  package internal(set) var failuresInARow = 0

  /// The head whose quarantine could not be written either.
  var unwritable: Serial?
  /// The rank up to which every envelope is in the window or has left the lane.
  var seenThrough: Rank
  /// The greatest rank that this lane has had.
  var lastRank: Rank
  /// The times until which attempts at an upstream wait, whichever envelope is the head.
  ///
  /// Used only in a ``LaneOrder/latest`` lane, where otherwise each new envelope would be tried at
  /// once.
  var backoffs: [UpstreamNumber: WallTime] = [:]
  /// The time of this lane's timer; ``noTimer`` if none is set.
  ///
  /// It is never too late for the lane's wait. Any other timer of the lane is obsolete.
  var timerAt = Lane.noTimer
  /// The number of the sweep that passed an envelope without putting it into the window; later
  /// envelopes of that sweep are left out as well.
  var fullInSweep = 0

  /// The value of ``timerAt`` without a timer: an optional would make every lane larger.
  static let noTimer = MonotonicTime(nanoseconds: .max)

  /// Makes a lane in which nothing waits, and nothing is unseen.
  init(client: ClientNumber, order: LaneOrder, seenThrough: Rank) {
    self.client = client
    self.order = order
    self.seenThrough = seenThrough
    lastRank = seenThrough
  }

  /// The number of envelopes in the lane, parked ones left out.
  var standingCount: Int { waiting - parked }

  /// Whether the head is being attempted, or a change of it is on its way to the disk, or cannot be
  /// written.
  var isUnderWay: Bool { phase == .inFlight || phase == .recording || phase == .unwritable }

  /// Whether the lane has nothing in memory that it could attempt.
  var isEmptyHanded: Bool { phase == .starved || phase == .parked }

  /// Whether every waiting envelope that is not parked is in the window.
  var isWhole: Bool { seenThrough == lastRank }

  /// Adds an envelope that was accepted after all others.
  ///
  /// In a ``LaneOrder/latest`` lane it always goes into the window, which may then have to be
  /// trimmed.
  ///
  /// - Parameters:
  ///   - sweep: The walk that is under way, which may have passed this envelope already.
  ///   - hasRoom: Whether a window may grow beyond the minimum that every lane may hold.
  /// - Returns: Whether it went into the window.
  mutating func admit(_ entry: LineEntry, during sweep: Sweep?, hasRoom: Bool, windowMin: Int)
    -> Bool
  {
    let rank = order.rank(of: entry.serial)
    waiting += 1
    guard rank > seenThrough else {
      guard place(of: entry.serial) == nil else {
        // A page that was read after its commit has shown it already.
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

  /// Whether a walk along the line leaves an envelope out, since the lane has seen all up to it.
  func hasSeen(_ serial: Serial) -> Bool { order.rank(of: serial) <= seenThrough }

  /// Notes that nothing waits behind the window.
  mutating func noteEnd() { seenThrough = lastRank }

  /// Adds an envelope that a walk along the line has reached.
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
      // It was under way while the window was cut short in front of it.
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

  /// Notes an envelope that was put back into a lane in which nothing stood.
  mutating func noteOnlyOne(_ serial: Serial) {
    seenThrough = max(seenThrough, order.rank(of: serial))
    lastRank = max(lastRank, order.rank(of: serial))
  }

  /// The envelope whose turn it is.
  package var head: LineEntry? { window.first }

  /// Whether a walk that reached the end of the line would have found this lane's envelopes.
  func isGone(after sweep: Sweep) -> Bool {
    lastRank <= sweep.scannedThrough && seenThrough >= sweep.start && fullInSweep != sweep.number
  }

  /// The index of an envelope in the window, from 0; nil if it is not there.
  ///
  /// Ranks ascend along the window, so a binary search finds it. Only the head may be out of order,
  /// if it was under way when one came that goes before it.
  func place(of serial: Serial) -> Int? {
    if window.first?.serial == serial { return 0 }
    let low = firstPlace(notBefore: order.rank(of: serial), from: 1)
    return low < window.count && window[low].serial == serial ? low : nil
  }

  /// The first index, from `first` on, whose rank is at least `rank`.
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
