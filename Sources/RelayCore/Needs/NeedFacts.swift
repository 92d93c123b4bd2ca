/// What is known of the relay at one moment: all that the list of needs is made of.
package struct NeedFacts: Sendable {
  /// An upstream.
  package struct Upstream: Sendable {
    /// Its name in the configuration.
    package var name: String
    /// Whether the configuration names it.
    package var isConfigured = true
    /// Whether it answers.
    package var isReachable = true
    /// Whether somebody has paused it.
    package var isPaused = false
    /// The time from which it has been reachable, or not.
    package var since: WallTime?
    /// The number of envelopes that wait for it.
    package var waiting = 0
    /// The acceptance time of the oldest of its lanes' heads; nil if nothing waits.
    package var oldestWaitingAt: WallTime?
    /// Its last failure at connection level, in words.
    package var lastError: String?
    /// The kind of that failure.
    package var lastFailure: ConnectionFailure?
    /// What it made of envelopes lately.
    package var outcomes = OutcomeWindow.Figures()
    /// The latest envelope that it did not take, and since when none has got through.
    package var failure: Failure?
    /// The dead letters of the last day, the latest of them, and whether others were answered
    /// something else.
    package var deadLetters: (count: Int, last: Failure, isMixed: Bool)?
    /// The number of dead letters, however few they are; nil if it is not known.
    package var deadLetterCount: Int?
    /// The latest envelope that expired.
    package var expired: Failure?
    /// Whether it answers several envelopes with JSON in which no results are known.
    package var hasUnknownResults = false

    /// Knows nothing but the name.
    package init(name: String) { self.name = name }
  }

  /// An envelope that an upstream did not take.
  package struct Failure: Sendable {
    /// The status that the upstream answered; nil if it did not answer.
    package var status: Int?
    /// The reason in words.
    package var reason: String
    /// The state that it left the envelope in; nil if that is tried again.
    package var left: EnvelopeState?
    /// Since when it has been so.
    package var since: WallTime
    /// The envelope; nil if it is gone.
    package var example: Need.Example?

    /// Describes one.
    package init(
      status: Int?, reason: String, left: EnvelopeState? = nil, since: WallTime,
      example: Need.Example?
    ) {
      self.status = status
      self.reason = reason
      self.left = left
      self.since = since
      self.example = example
    }
  }

  /// Lanes that stand for one reason.
  package struct BlockedGroup: Sendable {
    /// The upstream's name.
    package var upstream: String
    /// The number of lanes.
    package var count: Int
    /// The first of them, and why it stands.
    package var first: Failure

    /// Describes a group.
    package init(upstream: String, count: Int, first: Failure) {
      self.upstream = upstream
      self.count = count
      self.first = first
    }
  }

  /// Messages of what needs somebody that were not taken.
  package struct RefusedNews: Sendable {
    /// The upstream's name.
    package var upstream: String
    /// The number of messages.
    package var count: Int
    /// The latest of them.
    package var last: Failure

    /// Describes some.
    package init(upstream: String, count: Int, last: Failure) {
      self.upstream = upstream
      self.count = count
      self.last = last
    }
  }

  /// A certificate or a revocation list that the relay uses.
  package struct Certificate: Sendable {
    /// What it is and where it is used, as the beginning of a sentence.
    package var what: String
    /// When it ends.
    package var endsAt: WallTime
    /// The upstream that it is shown; nil for a listener's.
    package var upstream: String?

    /// Describes one.
    package init(what: String, endsAt: WallTime, upstream: String? = nil) {
      self.what = what
      self.endsAt = endsAt
      self.upstream = upstream
    }
  }

  /// Why a certificate, or a revocation list, cannot be used as things stand.
  package struct CertificateProblem: Sendable {
    /// A sentence without a full stop.
    package var sentence: String
    /// The upstream that it is shown; nil for a listener's.
    package var upstream: String?

    /// Describes one.
    package init(_ sentence: String, upstream: String? = nil) {
      self.sentence = sentence
      self.upstream = upstream
    }
  }

  /// Now.
  package var now: WallTime
  /// All upstreams that are configured, or that something waits for, in the order of display.
  package var upstreams: [Upstream] = []
  /// Blocked lanes by their reasons.
  package var blocked: [BlockedGroup] = []
  /// The number of blocked lanes in all, those in no group included.
  package var blockedLaneCount = 0
  /// Messages of what needs somebody that were not taken; nil if there are none.
  package var refusedNews: RefusedNews?
  /// The error that keeps the store from writing; nil while all is well.
  package var storeTrouble: String?
  /// The error that keeps the store from being read; nil while all is well.
  package var readTrouble: String?
  /// The store's damage in words; nil if there is none.
  package var storeDamage: String?
  /// Why what is acknowledged may be less safe than is wanted; nil if there is no such doubt.
  package var durabilityDoubt: DurabilityDoubt?
  /// The room for new envelopes, in bytes; nil if it is not known.
  package var roomBytes: Int64?
  /// Posts sent away per second.
  package var shedPerSecond = 0.0
  /// The requests and envelopes that quotas have refused since the start, by the quota's name.
  package var quotaRefusals: [String: Int] = [:]
  /// The lanes that wait for missing sequence numbers, and since when the longest does.
  package var gaps: (count: Int, since: WallTime)?
  /// Certificates and revocation lists.
  package var certificates: [Certificate] = []
  /// Why certificates cannot be used as things stand.
  package var certificateProblems: [CertificateProblem] = []
  /// The reload that was refused last, if none was taken up since.
  package var refusedReload: (at: WallTime, problems: [String])?
  /// The path of the configuration file; nil if there is none.
  package var configurationPath: String?
  /// The first key of a ring for receipts that does not follow the one before, and since when it
  /// signs; nil if there is none.
  package var newReceiptKeys: (firstKid: String, since: WallTime)?
  /// Why the clock is doubted; nil while it is not.
  package var clockDoubt: String?

  /// Knows nothing but the time.
  package init(now: WallTime) { self.now = now }
}
