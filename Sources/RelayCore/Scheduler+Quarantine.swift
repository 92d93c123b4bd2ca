// Envelopes that the store cannot read.

extension Scheduler {
  /// An attempt could not be made, since the store has lost the envelope's content, or a part.
  ///
  /// It was acknowledged, so it is neither passed over nor ended by itself: its lane stands,
  /// whatever the policy for refusals, until somebody has put the content back, or gives it up.
  /// Nothing was sent, so the upstream is not judged by it.
  package mutating func attemptUnreadable(_ serial: Serial, reason: String, now: Now) {
    guard let flight = endFlight(serial) else { return }
    giveUpProbe(serial, of: flight.upstream, now: now)
    defer { fillSlots(of: flight.upstream, now: now) }
    guard let head = lanes[flight.lane]?.head, head.serial == serial else { return }
    quarantine(head, reason: reason, now: now)
  }

  /// Blocks a lane for its head, whatever the policy for refusals.
  mutating func quarantine(_ head: LineEntry, reason: String, now: Now) {
    var transition = Transition(
      serial: head.serial, lane: head.lane, upstream: head.upstream, change: .block(reason: reason),
      at: now.wall, epoch: epoch)
    transition.isQuarantine = true
    record(transition)
  }
}
