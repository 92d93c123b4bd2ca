import RelayCore

/// The configuration's rules on accepting envelopes, arranged for fast look-ups.
package final class AcceptanceRules: Sendable {
  /// One upstream's terms for envelopes that do not bring their own.
  ///
  /// A class, and none of it changes: each post looks at one.
  package final class Upstream: Sendable {
    /// The upstream's name.
    package let name: String
    /// The time from acceptance until an envelope expires, in milliseconds.
    package let deadlineMs: Int64
    /// The policy for a lane whose head is refused.
    package let onFailure: FailurePolicy
    /// Whether it is another relay, which fills references itself.
    package let isRelay: Bool
    /// Whether it puts parts of a content together.
    package let takesContentRange: Bool
    /// The rules on its answers to devices.
    package let answers: AnswerRules

    fileprivate init(_ configuration: UpstreamConfiguration) {
      name = configuration.name
      deadlineMs = Int64(configuration.deadlineSeconds) * 1000
      onFailure = configuration.onFailure
      isRelay = configuration.batch.format == .waystation
      takesContentRange = configuration.takesContentRange
      // What another relay names stands in its own API, and behind no route of this one.
      answers = AnswerRules(
        upstream: configuration.name, url: isRelay ? nil : configuration.url,
        fields: AnswerFields(passing: configuration.passHeaders))
    }
  }

  /// The limits on what a sender may send.
  package let limits: LimitsConfiguration
  /// For envelopes that name no upstream; nil if there are several, and none is called `default`.
  package let defaultUpstream: Upstream?
  /// The configuration of lanes, by their names.
  package let lanes: LaneRulesTable
  /// Whether receipts are made of what is accepted.
  package let makesReceipts: Bool
  private let upstreams: [Upstream]

  /// The rules that a configuration sets.
  package init(_ configuration: Configuration) {
    limits = configuration.limits
    lanes = configuration.lanes
    makesReceipts = configuration.receipts != nil
    upstreams = configuration.upstreams.map(Upstream.init)
    defaultUpstream = configuration.defaultUpstream.map(Upstream.init)
  }

  /// The upstream of that name; nil if none is configured.
  package func upstream(named name: String) -> Upstream? {
    // A handful at the most: looking through them beats hashing the name.
    for upstream in upstreams where upstream.name == name { return upstream }
    return nil
  }
}
