// Certificates and revocation lists that end, or cannot be used.
extension NeedRules {
  static func certificates(_ facts: NeedFacts) -> [Need] {
    let unusable = facts.certificateProblems.map { problem in
      Need(
        key: Need.Key(
          .certificateUnusable, upstream: problem.upstream, subject: problem.sentence),
        severity: .critical, since: facts.now,
        title: problem.upstream.map { "what \($0) is shown cannot be used: \(problem.sentence)" }
          ?? problem.sentence,
        count: 1, acts: acts(on: problem.upstream, facts))
    }
    return unusable + facts.certificates.compactMap { ending($0, facts) }
  }

  private static func ending(_ certificate: NeedFacts.Certificate, _ facts: NeedFacts) -> Need? {
    let leftMs = certificate.endsAt.milliseconds(since: facts.now)
    // Of one that has ended it is told that it cannot be used.
    guard leftMs > 0, leftMs < NeedLimits.certificateMs else { return nil }
    let days = leftMs / 86_400_000
    let end =
      days == 0 ? "ends within a day" : days == 1 ? "ends in one day" : "ends in \(days) days"
    return Need(
      key: Need.Key(
        .certificateEnding, upstream: certificate.upstream, subject: certificate.what),
      severity: leftMs < NeedLimits.certificateCriticalMs ? .critical : .warning,
      since: facts.now, title: "\(certificate.what) \(end)",
      cause: "renew it, replace the files, and send the relay a SIGHUP", count: 1,
      acts: acts(on: certificate.upstream, facts))
  }

  /// The files can be looked at once they are replaced, and an upstream tried once they are read.
  private static func acts(on upstream: String?, _ facts: NeedFacts) -> [NeedAct] {
    (facts.configurationPath.map { [.checkConfiguration(path: $0)] } ?? [])
      + (upstream.map { [.tryCredentials(upstream: $0)] } ?? [])
  }
}
