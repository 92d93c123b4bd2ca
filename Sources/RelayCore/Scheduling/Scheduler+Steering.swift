/// A command that somebody gives for an envelope.
package enum SteeringCommand: Sendable {
  /// Run it if it is held; end its wait if it waits for a time.
  case run
  /// Try it again after it was refused and blocks its lane.
  case retry
  /// Give it up, since it blocks its lane: it becomes a dead letter.
  case discard(reason: String)
  /// Cancel it.
  case cancel(reason: String)
  /// Correct it.
  case edit(EnvelopeEdit)
  /// Put it back in line after it has ended, to wait as its entry says; the order is its lane's.
  case requeue(into: LaneOrder)
}

/// The scheduler's answer to a ``SteeringCommand``.
package enum CommandVerdict: Sendable, Equatable {
  /// It is on its way to the disk, and takes effect once it is there.
  case recording
  /// Nothing has to be done: the envelope is attempted as soon as its turn comes anyway.
  case unneeded
  /// An attempt is running, or a change is on its way to the disk: ask again in a moment.
  case busy
  /// Only the head of a lane can be run; this envelope is the head.
  case behind(Serial)
  /// It waits for sequence numbers before its own, so it has no place in its lane yet.
  case parked
  /// It was refused and blocks its lane: it has to be resolved.
  case blocked
  /// It does not block its lane, so nothing has to be resolved.
  case notBlocked
  /// The upstream may have it as it is, and has yet to be asked: it cannot be changed before that.
  case inDoubt
  /// Its lane stands until the relay restarts, since the store is damaged there.
  case unwritable
  /// Its state is not as the store showed it: for example, it has ended since, or was attempted.
  /// Look again.
  case gone
}

// Commands that change waiting envelopes. Nothing takes effect before it is durable; until then the
// head of the lane stands still.
extension Scheduler {
  /// Carries out a command, or says why not.
  ///
  /// - Parameter entry: The envelope's place as the store shows it; for a requeue, the place that
  ///   it is to have.
  package mutating func obey(
    _ command: SteeringCommand, of entry: LineEntry, now: Now
  ) -> CommandVerdict {
    if case .requeue(let order) = command {
      guard decides(for: entry.client) else { return .gone }
      guard noteChanging(entry) else { return .busy }
      if order == .latest { latestRequeues.insert(entry.serial) }
      set(.requeue(entry), of: entry, now: now)
      return .recording
    }
    guard inFlight[entry.serial] == nil, changing[entry.serial] == nil, !isReserved(entry)
    else { return .busy }
    guard entry.standing != .parked else { return obeyParked(command, of: entry, now: now) }
    guard lanes[entry.lane]?.mayHold(entry.serial) == true else { return .gone }
    if case .edit = command, mustBeVerified(entry) { return .inDoubt }
    guard lanes[entry.lane]?.head?.serial == entry.serial else {
      return obeyBehindHead(command, of: entry, now: now)
    }
    guard lanes[entry.lane]?.phase != .recording else { return .busy }
    if case .edit(let edit) = command, let head = lanes[entry.lane]?.head,
      head.attempts != edit.entry.attempts
        || (head.standing == .blocked) != (edit.entry.standing == .blocked)
    {
      // Attempted since the store was read: the edit would undo the result.
      return .gone
    }
    return obeyAtHead(command, of: entry, now: now)
  }

  private mutating func obeyAtHead(
    _ command: SteeringCommand, of entry: LineEntry, now: Now
  ) -> CommandVerdict {
    let isBlocked = lanes[entry.lane]?.phase == .blocked
    switch command {
    case .run where isBlocked: return .blocked
    case .run where lanes[entry.lane]?.phase == .unwritable: return .unwritable
    case .run: return runHead(of: entry.lane, now: now)
    case .retry, .discard:
      guard isBlocked else { return .notBlocked }
    case .cancel, .edit, .requeue: break
    }
    setPhase(of: entry.lane, .recording)
    set(change(for: command), of: entry, now: now)
    return .recording
  }

  private mutating func obeyBehindHead(
    _ command: SteeringCommand, of entry: LineEntry, now: Now
  ) -> CommandVerdict {
    switch command {
    case .run: return lanes[entry.lane]?.head.map { .behind($0.serial) } ?? .busy
    case .retry, .discard: return .notBlocked
    case .cancel, .edit, .requeue: break
    }
    changing[entry.serial] = entry.client
    set(change(for: command), of: entry, now: now)
    return .recording
  }

  private mutating func runHead(of number: LaneNumber, now: Now) -> CommandVerdict {
    guard let head = lanes[number]?.head else { return .gone }
    switch lanes[number]?.phase {
    case .held, .waiting:
      setPhase(of: number, .recording)
      set(.release, of: head, now: now)
      return .recording
    case .ready:
      hasten(head.upstream, for: number, now: now)
      return .unneeded
    default: return .unneeded
    }
  }

  /// Tries an upstream sooner, with this lane's head, since somebody wants the lane to go on.
  mutating func hasten(_ upstream: UpstreamNumber, for lane: LaneNumber, now: Now) {
    guard let client = lanes[lane]?.client,
      upstreams[upstream]?.reachability.hasten(now: now.monotonic) == true
    else { return }
    upstreams[upstream]?.ready.prepend(lane, of: client)
    fillSlots(of: upstream, now: now)
  }

  func change(for command: SteeringCommand) -> Transition.Change {
    switch command {
    case .run, .retry: .release
    case .discard(let reason): .end(.failed, reason: reason)
    case .cancel(let reason): .end(.cancelled, reason: reason)
    case .edit(let edit): .edit(edit)
    case .requeue: preconditionFailure("a requeue is no change of a waiting envelope")
    }
  }

  mutating func set(_ change: Transition.Change, of entry: LineEntry, now: Now) {
    actions.append(
      .record(
        Transition(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream, change: change,
          at: now.wall, acceptedAt: entry.acceptedAt, epoch: epoch(of: entry.client))))
  }
}
