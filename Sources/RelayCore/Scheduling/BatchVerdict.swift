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

  /// The refusals that may be for what one envelope holds: 400, 409 and 422 (RFC 9110 sections
  /// 15.5.1, 15.5.10 and 15.5.21).
  ///
  /// Any other, such as 403, 404 or 415, is for the request, whatever is in it: its path, its
  /// method, its credentials, its type.
  private static let statusesOfContent = StatusSet(codes: [400, 409, 422])
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
    return statusesOfContent.contains(status) && rules.outcome(of: report) == .refused
  }
}
