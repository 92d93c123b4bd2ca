/// A set of HTTP status codes.
package struct StatusSet: Hashable, Sendable {
  /// The codes that a final answer may carry.
  package static let codes = 200...599

  private var members: Set<Int> = []

  /// The empty set.
  package init() {}

  /// The given single codes, and the given classes (5 stands for 500 to 599).
  ///
  /// - Precondition: codes lie within ``codes``, classes within 2 to 5.
  package init(codes: [Int] = [], classes: [Int] = []) {
    for code in codes {
      precondition(Self.codes.contains(code), "a final status is 200 to 599")
      members.insert(code)
    }
    for digit in classes {
      precondition((2...5).contains(digit), "a class of final statuses is 2 to 5")
      members.formUnion((digit * 100)..<(digit * 100 + 100))
    }
  }

  /// Whether the code is a member.
  package func contains(_ code: Int) -> Bool { members.contains(code) }

  /// Whether no code is in both sets.
  package func isDisjoint(with other: StatusSet) -> Bool { members.isDisjoint(with: other.members) }
}

/// The meaning of each status, for one upstream.
package struct OutcomeRules: Hashable, Sendable {
  /// Statuses with which the upstream takes the envelope.
  package var deliver: StatusSet
  /// Statuses after which the same envelope is tried again.
  package var retry: StatusSet

  /// The default: 2xx delivers; 408, 425, 429 and 5xx retry.
  package static let standard = OutcomeRules(
    deliver: StatusSet(classes: [2]), retry: StatusSet(codes: [408, 425, 429], classes: [5]))

  /// Sets both; every other status means refused.
  package init(deliver: StatusSet, retry: StatusSet) {
    self.deliver = deliver
    self.retry = retry
  }

  /// The outcome of an attempt: `unreachable` where nobody knows what its answer is about.
  package func outcome(of report: AttemptReport) -> Outcome {
    report.isUnclear ? .unreachable : outcome(of: report.event)
  }

  /// The outcome of an attempt by its end.
  ///
  /// Without an answer it is `unreachable`, unless the reason lies in the envelope itself.
  package func outcome(of event: AttemptEvent) -> Outcome {
    switch event {
    case .failed: .unreachable
    case .unsendable: .refused
    case .answered(let response):
      if deliver.contains(response.status) {
        .delivered
      } else if retry.contains(response.status) {
        .unreachable
      } else {
        .refused
      }
    }
  }
}
