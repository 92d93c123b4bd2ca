/// What can need somebody: the kinds of a ``Need``, the most pressing first.
package enum NeedKind: String, CaseIterable, Sendable {
  /// The store cannot write: devices are turned away.
  case storeTrouble = "store-trouble"
  /// The store can write and not be read: it answers no lists, and what waits may not be delivered.
  case readsFailing = "reads-failing"
  /// A part of the store cannot be read.
  case storeDamaged = "store-damaged"
  /// The database keeps what is acknowledged on fewer disks than it is to, or that cannot be told.
  case durabilityLow = "durability-low"
  /// Room for new envelopes runs out.
  case roomLow = "room-low"
  /// Posts are sent away, since the relay has too much to do.
  case shedding
  /// An upstream does not answer.
  case upstreamUnreachable = "upstream-unreachable"
  /// The relay's credentials for an upstream are refused, by it or by the server that gives access
  /// tokens.
  case credentialsRefused = "credentials-refused"
  /// An upstream answers, and refuses or fails much of what it gets.
  case upstreamFailing = "upstream-failing"
  /// Envelopes wait for an upstream that the configuration does not name.
  case upstreamUnconfigured = "upstream-not-configured"
  /// A message of what needs somebody was refused: nobody is told of anything.
  case notifyRefused = "notify-refused"
  /// Lanes stand until somebody settles the envelopes at their heads.
  case lanesBlocked = "lanes-blocked"
  /// An upstream answers several envelopes in a form that is not known: what it refuses of them
  /// counts as delivered.
  case resultsUnknown = "results-unknown"
  /// A reload was refused, and the configuration before it goes on.
  case configurationRefused = "configuration-refused"
  /// A certificate or a revocation list cannot be used, or could not be loaded again.
  case certificateUnusable = "certificate-unusable"
  /// A certificate or a revocation list ends soon, or has ended.
  case certificateEnding = "certificate-ending"
  /// Receipts are signed with keys that do not follow those before: devices trust none of them.
  case receiptKeysNew = "receipt-keys-new"
  /// The machine's clock is doubted.
  case clockDoubted = "clock-doubted"
  /// Envelopes expired undelivered.
  case envelopesExpired = "envelopes-expired"
  /// Envelopes ended as dead letters lately.
  case deadLetters = "dead-letters"
  /// More comes in for an upstream than it takes.
  case backlogGrowing = "backlog-growing"
  /// An envelope has waited for long, although its upstream answers.
  case oldestWaiting = "oldest-waiting"
  /// Envelopes wait for sequence numbers that do not come.
  case gapsWaiting = "gaps-waiting"
  /// Quotas refuse what clients send.
  case quotaRefusals = "quota-refusals"
  /// Somebody has paused an upstream, and envelopes wait for it.
  case upstreamPaused = "upstream-paused"

  /// The heading of the kind's section in `docs/alerts.md`, as a link has it.
  package var page: String { "docs/alerts.md#" + rawValue }
}

/// How much a need presses, the most pressing first.
package enum NeedSeverity: String, CaseIterable, Sendable, Comparable {
  /// Worth waking somebody up for: devices are turned away, or nothing gets through.
  case critical
  /// Somebody has to act within the day.
  case warning

  private var rank: Int { self == .critical ? 0 : 1 }

  /// Whether `left` presses more.
  package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}
