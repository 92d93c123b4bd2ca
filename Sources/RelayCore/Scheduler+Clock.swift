// What a clock that was set makes of waits that are written down by its time.
//
// A wait after a failure goes by the monotonic clock, and is not touched. But the time of day at
// which it ends is what is stored, and what a lane goes by when it is looked at anew: after a
// pause, a change, a restart. What a sender asked for with `notBefore` is a time of day, and comes
// when the clock shows it.
extension Scheduler {
  /// The wall clock was set ahead by so many milliseconds, or back if they are negative: what waits
  /// for a time of day is looked at again, and waits after failures end that much later or earlier
  /// by it, so as to be as long as they were.
  ///
  /// - Parameter milliseconds: 0 where time went on while nothing was looked at: the machine slept.
  package mutating func clockWasSet(byMs milliseconds: Int64, now: Now) {
    isClockSuspect = isClockSuspect || milliseconds < 0
    let numbers = lanes.keys.sorted()
    if milliseconds != 0 {
      let before = now.wall.adding(milliseconds: -milliseconds)
      for number in numbers {
        let longestMs = longestDelayMs(ofHeadOf: number)
        forEachWait(of: number) { time in
          // Longer than after any failure: this is somebody's wish.
          guard time.milliseconds(since: before) <= longestMs else { return time }
          return time.adding(milliseconds: milliseconds)
        }
      }
    }
    for number in numbers { lookAtWait(of: number, now: now) }
  }

  /// Ends a lane's wait if it is over, and else sees to it that it is looked at again.
  mutating func lookAtWait(of number: LaneNumber, now: Now) {
    guard case .waiting(var until) = lanes[number]?.phase else { return }
    if let time = awaitedTimeOfDay(in: number, until: until, now: now) {
      until = time <= now.wall ? now.monotonic : now.monotonic(at: time)
      lanes[number]?.phase = .waiting(until: until)
    }
    if until <= now.monotonic {
      endWait(of: number, now: now)
    } else {
      startTimer(of: number, until: until, now: now)
    }
  }

  /// The time of day that the head of a lane waits for; nil where it waits for a while after a
  /// failure, be it one that it has taken over.
  private func awaitedTimeOfDay(
    in number: LaneNumber, until: MonotonicTime, now: Now
  ) -> WallTime? {
    guard let lane = lanes[number], let head = lane.head, head.dueAt == lane.dueAt else {
      return nil
    }
    let leftMs = until.milliseconds(since: now.monotonic)
    return head.mayHaveFailed && leftMs <= longestDelayMs(ofHeadOf: number) ? nil : head.dueAt
  }

  /// The longest wait that a failure of the head leads to, in milliseconds; without end where its
  /// upstream is not configured.
  private func longestDelayMs(ofHeadOf number: LaneNumber) -> Int64 {
    let head = lanes[number]?.head
    return head.flatMap { upstreams[$0.upstream]?.policy.retry.longestDelayMs } ?? .max
  }

  /// Holds the wait of a head that has been attempted to the longest that a failure leads to, where
  /// it may have been written down by a clock that was ahead of what it shows now, nobody knows by
  /// how much: what was found at start, and what is read from the line later on.
  mutating func boundWait(of number: LaneNumber, now: Now) {
    guard isClockSuspect, let head = lanes[number]?.head else { return }
    guard let longestMs = upstreams[head.upstream]?.policy.retry.longestDelayMs else { return }
    forEachWait(of: number) { min($0, now.wall.adding(milliseconds: longestMs)) }
  }

  /// The longest that a wait after a failure may last by the time of day.
  func bounded(_ time: WallTime, of head: LineEntry, now: Now) -> WallTime {
    guard let longestMs = upstreams[head.upstream]?.policy.retry.longestDelayMs else { return time }
    return min(time, now.wall.adding(milliseconds: longestMs))
  }

  private mutating func forEachWait(
    of number: LaneNumber, _ change: (WallTime) -> WallTime
  ) {
    if let backoffs = lanes[number]?.backoffs, !backoffs.isEmpty {
      lanes[number]?.backoffs = backoffs.mapValues(change)
    }
    guard let head = lanes[number]?.head, head.mayHaveFailed, let dueAt = head.dueAt else { return }
    lanes[number]?.window[0].dueAt = change(dueAt)
  }
}

extension LineEntry {
  /// Whether it can be a failure that it waits for: an attempt is on record, or was about to be.
  fileprivate var mayHaveFailed: Bool { attempts > 0 || isInDoubt }
}
