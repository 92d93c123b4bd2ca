/// A selection of envelopes by what they are and by what became of them; a part that is nil selects
/// all.
package struct EnvelopeSelection: Sendable, Hashable {
  /// The client's name.
  package var client: String?
  /// The lane's name, of any client.
  package var lane: String?
  /// The upstream's name, whether or not it is configured.
  package var upstream: String?
  /// The sender's own word for it, to find it by.
  package var tag: String?
  /// The states of which it has one.
  package var states: Set<EnvelopeState>
  /// The times of acceptance.
  package var accepted = TimeSpan()
  /// The times of the end; unless it is everything, none that waits is selected.
  package var ended = TimeSpan()
  /// The status of the upstream's kept answer.
  package var status: Int?
  /// A text that the reason of the end or of the standing has somewhere.
  package var reason: String?
  /// Whether a person gave it up by discarding it when it blocked its lane.
  package var isDiscarded: Bool?
  /// The upstream's own name of the error that it refused with.
  ///
  /// It is read from the kept answer, which is a matter of the server: no store looks at it.
  package var errorID: String?

  /// Puts a selection together.
  package init(
    client: String? = nil, lane: String? = nil, upstream: String? = nil, tag: String? = nil,
    states: Set<EnvelopeState> = Set(EnvelopeState.allCases)
  ) {
    self.client = client
    self.lane = lane
    self.upstream = upstream
    self.tag = tag
    self.states = states
  }

  /// The states in the order of an envelope's life, separated by commas.
  package var stateWords: String {
    EnvelopeState.allCases.filter { states.contains($0) }.map(\.rawValue).joined(separator: ",")
  }

  /// Whether an envelope passes those parts that only its summary tells: the times, the status and
  /// the reason.
  package func passes(_ summary: EnvelopeSummary) -> Bool {
    guard accepted.contains(summary.id.acceptedAt) else { return false }
    if !ended.isEverything {
      guard let end = summary.fate.endedAt, ended.contains(end) else { return false }
    }
    if let status, status != summary.fate.responseStatus { return false }
    if let isDiscarded, isDiscarded != DiscardReason.isOne(summary.fate.reason) { return false }
    guard let reason else { return true }
    return summary.fate.reason?.utf8.hasPart(reason.utf8) ?? false
  }
}

/// The reason of an envelope that blocked its lane, and that a person has discarded.
package enum DiscardReason {
  private static let beginning = "discarded; "

  /// The reason, with that for which it stood.
  package static func text(_ reason: String) -> String { beginning + reason }

  /// Whether a reason is one.
  package static func isOne(_ reason: String?) -> Bool { reason?.hasPrefix(beginning) ?? false }
}

extension EnvelopeSelection {
  /// A span of times; a bound that is nil leaves that side open.
  package struct TimeSpan: Sendable, Hashable {
    /// The first time that belongs to it.
    package var since: WallTime?
    /// The first time after it.
    package var until: WallTime?

    /// Makes a span.
    package init(since: WallTime? = nil, until: WallTime? = nil) {
      self.since = since
      self.until = until
    }

    /// Whether both sides are open.
    package var isEverything: Bool { since == nil && until == nil }

    /// Whether a time belongs to it.
    package func contains(_ time: WallTime) -> Bool {
      if let since, time < since { return false }
      if let until, time >= until { return false }
      return true
    }
  }
}

extension String.UTF8View {
  /// Whether some bytes stand in it one after the other.
  fileprivate func hasPart(_ part: String.UTF8View) -> Bool {
    let bytes = Array(self)
    let wanted = Array(part)
    guard wanted.count <= bytes.count else { return false }
    return (0...(bytes.count - wanted.count)).contains { start in
      bytes[start...].starts(with: wanted)
    }
  }
}
