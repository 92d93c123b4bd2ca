// Adjusting waits that are stored as times of day when the clock is set.
//
// A wait after a failure runs by the monotonic clock, and is not affected. But its end is stored as
// a time of day, and that is what a lane uses when it is looked at anew: after a pause, a change, a
// restart. A sender's `notBefore` is a time of day, and comes when the clock shows it.
extension Scheduler {
  /// Adjusts all waits after the wall clock was set ahead by so many milliseconds, or back if they
  /// are negative.
  ///
  /// Waits for a time of day are looked at again. The stored ends of waits after failures move with
  /// the clock, so that they last as long as before.
  ///
  /// - Parameter milliseconds: 0 where time passed unobserved: the machine slept.
  package mutating func clockWasSet(byMs milliseconds: Int64, now: Now) {
    isClockSuspect = isClockSuspect || milliseconds < 0
    let numbers = lanes.keys.sorted()
    if milliseconds != 0 {
      let before = now.wall.adding(milliseconds: -milliseconds)
      for number in numbers {
        let longestMs = longestDelayMs(ofHeadOf: number)
        forEachWait(of: number) { time in
          // A wait longer than any after a failure is somebody's wish.
          guard time.milliseconds(since: before) <= longestMs else { return time }
          return time.adding(milliseconds: milliseconds)
        }
      }
    }
    for number in numbers { lookAtWait(of: number, now: now) }
  }

  /// Ends a lane's wait if it is over; otherwise sets a timer to look at it again.
  mutating func lookAtWait(of number: LaneNumber, now: Now) {
    guard case .waiting(var until) = lanes[number]?.phase else { return }
    if let time = awaitedTimeOfDay(in: number, until: until, now: now) {
      until = time <= now.wall ? now.monotonic : now.monotonic(at: time)
      setPhase(of: number, .waiting(until: until))
    }
    if until <= now.monotonic {
      endWait(of: number, now: now)
    } else {
      startTimer(of: number, until: until, now: now)
    }
  }

  /// The time of day that the head of a lane waits for; nil where it waits after a failure, its own
  /// or one that it has taken over.
  private func awaitedTimeOfDay(
    in number: LaneNumber, until: MonotonicTime, now: Now
  ) -> WallTime? {
    guard let lane = lanes[number], let head = lane.head, head.dueAt == lane.dueAt else {
      return nil
    }
    let leftMs = until.milliseconds(since: now.monotonic)
    return head.mayHaveFailed && leftMs <= longestDelayMs(ofHeadOf: number) ? nil : head.dueAt
  }

  /// The longest wait that a failure of the head leads to, in milliseconds; unlimited where its
  /// upstream is not configured.
  private func longestDelayMs(ofHeadOf number: LaneNumber) -> Int64 {
    let head = lanes[number]?.head
    return head.flatMap { upstreams[$0.upstream]?.policy.retry.longestDelayMs } ?? .max
  }

  /// Limits the stored wait of a head that has been attempted to the longest that a failure leads
  /// to.
  ///
  /// Only where the wait may have been stored by a clock that has been set back since, nobody knows
  /// how far: at a start, and for entries read from the line later on.
  mutating func limitWait(of number: LaneNumber, now: Now) {
    guard isClockSuspect, let head = lanes[number]?.head else { return }
    guard let longestMs = upstreams[head.upstream]?.policy.retry.longestDelayMs else { return }
    forEachWait(of: number) { min($0, now.wall.adding(milliseconds: longestMs)) }
  }

  /// A time of day, limited to the longest wait after a failure.
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
  /// Whether it may be waiting after a failure: an attempt is on record, or was announced.
  fileprivate var mayHaveFailed: Bool { attempts > 0 || isInDoubt }
}
