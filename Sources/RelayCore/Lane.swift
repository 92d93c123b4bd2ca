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
  }

  /// Whose lane it is.
  package let client: ClientNumber
  /// The first envelopes, in order; empty only while ``Phase/starved``.
  package internal(set) var window = Deque<LineEntry>()
  /// How many envelopes wait in all, those behind the window included.
  package internal(set) var waiting = 0
  /// What it is doing.
  package internal(set) var phase: Phase = .starved
  /// Failures of the present head in a row, for its backoff; those met while the upstream was
  /// unreachable do not count.
  package internal(set) var failuresInARow = 0

  /// Every envelope up to this number is in the window or has left the lane.
  var seenThrough: Serial
  /// The greatest number accepted into this lane.
  var lastSerial: Serial
  /// The wait that a timer has to be for; any other timer of this lane is an old one.
  var wait: WaitNumber = 0
  /// The sweep that came by an envelope without putting it into the window; later ones of that
  /// sweep are left as well.
  var fullInSweep = 0

  /// A lane of which nothing before `serial` waits.
  init(client: ClientNumber, before serial: Serial) {
    self.client = client
    seenThrough = serial - 1
    lastSerial = serial - 1
  }

  /// Whether the head is being attempted, or a change of it is on its way to the disk.
  var isUnderWay: Bool { phase == .inFlight || phase == .recording }

  /// Whether every waiting envelope is in the window.
  var isWhole: Bool { seenThrough == lastSerial }

  /// Takes in an envelope that was accepted after all others.
  ///
  /// - Parameters:
  ///   - sweep: The walk that is under way, which may have passed this envelope by already.
  ///   - hasRoom: Whether a window may be longer than the least that every lane may hold.
  /// - Returns: Whether it went into the window.
  mutating func admit(_ entry: LineEntry, during sweep: Sweep?, hasRoom: Bool, windowMin: Int)
    -> Bool
  {
    let fits = isWhole && (hasRoom || window.count < windowMin)
    if fits {
      window.append(entry)
      seenThrough = entry.serial
    } else if let sweep, entry.serial > seenThrough, entry.serial <= sweep.scannedThrough {
      fullInSweep = sweep.number
    }
    waiting += 1
    lastSerial = entry.serial
    return fits
  }

  /// Takes in an envelope that a walk along the line came by.
  ///
  /// - Returns: Whether it went into the window.
  mutating func take(
    _ entry: LineEntry, in sweep: Sweep, hasRoom: Bool, windowMin: Int
  ) -> Bool {
    guard seenThrough >= sweep.start, entry.serial > seenThrough, fullInSweep != sweep.number
    else { return false }
    guard hasRoom || window.count < windowMin else {
      fullInSweep = sweep.number
      return false
    }
    window.append(entry)
    seenThrough = entry.serial
    return true
  }

  /// The envelope whose turn it is.
  package var head: LineEntry? { window.first }

  /// Whether a walk that came to the end of the line would have found what waits here.
  func isGone(after sweep: Sweep, scannedThrough: Serial) -> Bool {
    lastSerial <= scannedThrough && seenThrough >= sweep.start && fullInSweep != sweep.number
  }

  /// The place of an envelope in the window, counted from 0; nil if it is not there.
  ///
  /// Numbers grow along the window, so that halving finds it; only the head may be out of order, if
  /// it was under way when an earlier one was requeued.
  func place(of serial: Serial) -> Int? {
    if window.first?.serial == serial { return 0 }
    let low = firstPlace(notBefore: serial)
    return low < window.count && window[low].serial == serial ? low : nil
  }

  /// The first place behind the head whose number is not below this one.
  func firstPlace(notBefore serial: Serial) -> Int {
    var low = min(1, window.count)
    var high = window.count
    while low < high {
      let middle = (low + high) / 2
      if window[middle].serial < serial { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
