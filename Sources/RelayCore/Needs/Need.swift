/// One thing that needs somebody, as it stands now.
package struct Need: Sendable, Equatable {
  /// What tells one need from another: the same thing keeps it for as long as it lasts.
  package struct Key: Hashable, Sendable {
    /// The kind.
    package var kind: NeedKind
    /// The upstream that it is about, by its name; nil if it is about none.
    package var upstream: String?
    /// What it is about within the kind, such as a group of blocked lanes; empty if there is one
    /// need of the kind at most.
    package var subject: String

    /// Names a need.
    package init(_ kind: NeedKind, upstream: String? = nil, subject: String = "") {
      self.kind = kind
      self.upstream = upstream
      self.subject = subject
    }
  }

  /// An envelope that shows what is meant.
  package struct Example: Sendable, Equatable {
    /// Its name.
    package var id: EnvelopeID
    /// The lane that it stands or stood in; nil if that is not known any more.
    package var lane: LaneName?
    /// The upstream's own words, shortened; nil if it said nothing that can be shown.
    package var words: String?

    /// Shows an envelope.
    package init(id: EnvelopeID, lane: LaneName? = nil, words: String? = nil) {
      self.id = id
      self.lane = lane
      self.words = words
    }
  }

  /// What tells it from others.
  package var key: Key
  /// How much it presses.
  package var severity: NeedSeverity
  /// The time from which it has been so, as far as is known.
  package var since: WallTime
  /// One sentence without a full stop: what is the matter.
  package var title: String
  /// The cause in words; nil if the title says it all.
  package var cause: String?
  /// The status that the upstream answered; nil if it is about no answer.
  package var status: Int?
  /// How many it is about: lanes, envelopes, refusals; 1 for a thing that there is one of.
  package var count: Int64
  /// One of them; nil if there is none to be shown.
  package var example: Example?
  /// What can be done, the usual first.
  package var acts: [NeedAct]
  /// How many more of its kind the list leaves out; only the last one that it has says so.
  package var more = 0

  /// What is the matter, and why, in one sentence.
  package var sentence: String { cause.map { "\(title): \($0)" } ?? title }
  /// The same, and how many more of its kind there are.
  package var sentenceWithMore: String {
    more > 0 ? "\(sentence); and \(more) more of this kind" : sentence
  }
}
