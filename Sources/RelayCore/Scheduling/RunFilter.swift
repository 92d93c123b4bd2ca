/// The selection of a client's waiting envelopes that a run is about.
package enum RunFilter: Hashable, Sendable {
  /// All of them.
  case everything
  /// Envelopes with any tag of a configured collection, given by its name.
  case collection(String)
  /// Envelopes of a lane, given by its name.
  case lane(String)
  /// Envelopes with a tag.
  case tag(String)
  /// Envelopes named one by one: held ones are run as well, and a `notBefore` does not count.
  case ids(Set<EnvelopeID>)

  /// Whether each envelope was named by itself, so that no setting of its sender keeps it from
  /// being run.
  package var namesEach: Bool {
    if case .ids = self { true } else { false }
  }
}

/// The reason that a run passed an envelope over.
package enum RunSkip: String, Sendable, CaseIterable {
  /// It is held, and was not named by its id.
  case held
  /// Its `notBefore` has not come, and it was not named by its id.
  case notBefore
  /// Its lane stands, since an envelope was refused before the run.
  case laneBlocked
  /// An envelope before it is not moved by this run, or failed in it.
  case behind
  /// Its upstream became unreachable during the run, or was so already and one more probe failed;
  /// or its upstream is not configured.
  case upstreamUnreachable
  /// Its lane, its client or its upstream is paused.
  case paused
  /// Sequence numbers before its own are missing.
  case parked
  /// Somebody cancelled it while the run was under way.
  case cancelled
  /// It was named, but had ended before the run.
  case ended
  /// It was named, but this client has no such envelope.
  case unknown
}

/// The result of a run as a whole, in one word.
package enum RunSummary: String, Sendable, CaseIterable {
  /// Something was delivered, and nothing failed.
  case delivered
  /// Nothing was delivered, and nothing failed: there were no envelopes, or all were passed over.
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
  /// The sender's earliest time for an attempt; nil for at once.
  package var notBefore: WallTime?
  /// The reason that it is passed over from the start; nil if it is not.
  package var skip: RunSkip?

  /// Describes one that waits; see the properties for what each part means.
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

  /// Describes one that is passed over from the start.
  package init(_ id: EnvelopeID, serial: Serial, passedOver reason: RunSkip) {
    self.id = id
    self.serial = serial
    isHeld = false
    skip = reason
  }
}
