// Envelopes that the store cannot read.

extension Scheduler {
  /// Acts on an attempt that could not be made, since the store has lost the envelope's content or
  /// a part of it.
  ///
  /// The envelope was acknowledged, so it is neither skipped nor ended by itself. Its lane stands,
  /// whatever the policy for refusals, until somebody has restored the content or gives the
  /// envelope up. Nothing was sent, so this says nothing about the upstream.
  package mutating func attemptUnreadable(_ serial: Serial, reason: String, now: Now) {
    guard let flight = endFlight(serial, now: now) else { return }
    giveUpProbe(serial, of: flight.upstream, now: now)
    defer { fillSlots(of: flight.upstream, now: now) }
    guard !wasLetGo(serial, flight, now: now), let head = lanes[flight.lane]?.head,
      head.serial == serial
    else { return }
    quarantine(head, reason: reason, now: now)
  }

  /// Blocks a lane because of its head, whatever the policy for refusals.
  mutating func quarantine(_ head: LineEntry, reason: String, now: Now) {
    var transition = Transition(
      serial: head.serial, lane: head.lane, upstream: head.upstream, change: .block(reason: reason),
      at: now.wall, epoch: epoch(of: head.client))
    transition.isQuarantine = true
    record(transition)
  }
}
