/// What is made of the end of a request that carried several envelopes.
package enum BatchVerdict: String, Sendable {
  /// It is the end of an attempt of each, as if each had had a request of its own.
  case all
  /// Its answer has a result for each, with which that one's attempt ends.
  case each
  /// What is in it may be to blame, so it says nothing of a single one: they go again in two
  /// halves.
  case halved
  /// The coding of its body is to blame: they go again as they are, and uncompressed.
  case uncompressed
  /// It has results that do not fit the envelopes: each is tried again.
  case unreadable

  /// The refusals that cannot be for what one envelope holds: its method, its form, its host, its
  /// protocol (RFC 9110 section 15.5; RFC 6585 section 5).
  ///
  /// Any other may be for one of them: 404 for a device that nobody knows, 403 for one whose
  /// account has ended. Its neighbours must not be refused with it.
  private static let statusesOfRequest = StatusSet(
    codes: [405, 406, 411, 414, 415, 417, 421, 426, 431])
  /// The request was too large (RFC 9110 section 15.5.14), whatever the status means for one
  /// envelope.
  static let tooLarge = 413

  /// Judges a request.
  ///
  /// - Parameters:
  ///   - report: Its end, as it is reported of any of its envelopes.
  ///   - count: The number of its envelopes.
  ///   - subject: What its answer speaks of.
  ///   - rules: What statuses mean to its upstream.
  init(
    of report: AttemptReport, count: Int, _ subject: BatchAnswerSubject, _ rules: OutcomeRules
  ) {
    switch subject {
    case .each: self = .each
    case .unreadable: self = .unreadable
    case .coding: self = rules.outcome(of: report) == .delivered ? .all : .uncompressed
    case .whole: self = count > 1 && Self.isOfContent(report, rules) ? .halved : .all
    }
  }

  private static func isOfContent(_ report: AttemptReport, _ rules: OutcomeRules) -> Bool {
    guard let status = report.status else { return false }
    if status == tooLarge { return true }
    let isOfRequest = (300..<400).contains(status) || statusesOfRequest.contains(status)
    return !isOfRequest && rules.outcome(of: report) == .refused
  }
}
