/// Which of a client's waiting envelopes a run is about.
package enum RunFilter: Hashable, Sendable {
  /// All of them.
  case everything
  /// Those with any tag of a configured collection, by its name.
  case collection(String)
  /// Those of a lane, by its name.
  case lane(String)
  /// Those with a tag.
  case tag(String)
  /// Those that are named, one by one: held ones are run as well, and a `notBefore` does not count.
  case ids(Set<EnvelopeID>)

  /// Whether each envelope was named by itself, so that nothing its sender said keeps it.
  package var namesEach: Bool {
    if case .ids = self { true } else { false }
  }
}

/// Why a run passed an envelope over.
package enum RunSkip: String, Sendable, CaseIterable {
  /// It is held, and was not named by its id.
  case held
  /// Its `notBefore` has not come, and it was not named by its id.
  case notBefore
  /// Its lane stands, since an envelope was refused before the run.
  case laneBlocked
  /// Something stands before it that this run does not move, or that failed in this run.
  case behind
  /// Its upstream is given up for the moment, and a probe that the run asked for failed as well; or
  /// its upstream is not configured.
  case upstreamUnreachable
  /// Its lane, its client or its upstream is paused.
  case paused
  /// Sequence numbers before its own are missing.
  case parked
  /// Somebody took it back while the run was under way.
  case cancelled
  /// It was named, and had ended before the run.
  case ended
  /// It was named, and this client has no such envelope.
  case unknown
}

/// What came of a run on the whole, in one word.
package enum RunSummary: String, Sendable, CaseIterable {
  /// Something was delivered, and nothing failed.
  case delivered
  /// Nothing was delivered, and nothing failed: there was nothing, or all of it was passed over.
  case nothing
  /// Something failed, and nothing was delivered.
  case failed
  /// Some of it was delivered, and some of it failed.
  case partly
}

/// An envelope that a run is about.
package struct RunMember: Sendable, Equatable {
  /// The relay's name for it.
  package var id: EnvelopeID
  /// The store's number of it.
  package var serial: Serial
  /// The lane that it stands in; nil if it is passed over from the start.
  package var lane: LaneNumber?
  /// Whether it waits until someone runs it.
  package var isHeld: Bool
  /// Its sender's wish; nil for at once.
  package var notBefore: WallTime?
  /// Why it is passed over from the start; nil if it is not.
  package var skip: RunSkip?

  /// One that waits; see the properties for what each part means.
  package init(
    id: EnvelopeID, serial: Serial, lane: LaneNumber, isHeld: Bool = false,
    notBefore: WallTime? = nil
  ) {
    self.id = id
    self.serial = serial
    self.lane = lane
    self.isHeld = isHeld
    self.notBefore = notBefore
  }

  /// One that is passed over from the start.
  package init(_ id: EnvelopeID, passedOver reason: RunSkip) {
    self.id = id
    serial = id.serial
    isHeld = false
    skip = reason
  }
}
