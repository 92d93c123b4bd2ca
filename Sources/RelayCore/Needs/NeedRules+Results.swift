// Answers to several envelopes that cannot be read: what they refuse is lost.
extension NeedRules {
  static func unread(_ facts: NeedFacts) -> [Need] {
    facts.upstreams.filter { $0.isConfigured && $0.hasUnknownResults }.map { upstream in
      Need(
        key: Need.Key(.resultsUnknown, upstream: upstream.name), severity: .warning,
        since: facts.now,
        title: "\(upstream.name) answers several envelopes with JSON without known results:"
          + " all of them count as delivered",
        cause: "if that JSON can refuse single ones, take batch out of the configuration; if it"
          + " cannot, set batch.results to \"none\"",
        count: 1, acts: [.list(upstream: upstream.name, [.delivered])])
    }
  }
}
