import RelayCore

/// One service that envelopes go to, and how it is treated; what stands here are the defaults.
package struct UpstreamConfiguration: Equatable, Sendable {
  /// What envelopes call it: letters, digits, `.`, `_` and `-`, at most ``nameBytesMax``.
  package var name: String
  /// Where it is.
  package var url: UpstreamURL
  /// Fields that are set on every request to it, in the order they were written.
  package var headers: [Header] = []
  /// How long a connection may take to be made, in milliseconds.
  package var connectTimeoutMs = 10_000
  /// How long a whole attempt may take, in milliseconds; nil for as long as bytes move.
  package var attemptTimeoutMs: Int? = 120_000
  /// For how long no byte may move, in milliseconds; nil for as long as the attempt may take.
  package var idleTimeoutMs: Int?
  /// The most attempts in flight at once; 1 makes a series.
  package var maxConcurrent = 64
  /// The waits between attempts, and how far a `Retry-After` is honoured.
  package var retry = RetryPolicy.standard
  /// What an envelope's refusal does to its lane, unless the envelope says otherwise.
  package var onFailure = FailurePolicy.skip
  /// How long after acceptance an envelope expires unless it says otherwise, in seconds.
  package var deadlineSeconds = 604_800
  /// What each status means.
  package var outcomes = OutcomesConfiguration()
  /// How much of an answer's body is kept for the device, in bytes.
  package var responseBodyBytesMax = 64 * 1024
  /// Whether a connection is used for one request after the other.
  package var reuseConnections = true
  /// The proxy to go through; none, whatever the environment says, unless set here.
  package var proxy: ProxyURL?
  /// What is done about an envelope that it may have taken without saying so.
  package var ambiguous = AmbiguityPolicy.retry
  /// Where it says whether it has an envelope; set if ``ambiguous`` is `verify`, and only then.
  package var verify: VerificationPath?
  /// When it counts as unreachable, and how it is probed then.
  package var reachability = ReachabilityPolicy.standard
  /// Whether it is paused from the moment it is first configured.
  package var startPaused = false
  /// The PEM file of whoever may sign its certificate; nil for the system's.
  package var certificateAuthorities: String?
  /// The fields of its answers that go on to devices though they would be held back; see
  /// ``AnswerFields``.
  package var passHeaders: [String] = []
  /// How requests to it are signed; nil if they are not.
  package var signing: SigningConfiguration?
  /// What variables brought into its fields and its base path.
  package var secretVariables: [Secret] = []

  /// The longest name of an upstream, in bytes.
  package static let nameBytesMax = 64

  /// An upstream with the defaults.
  package init(name: String, url: UpstreamURL) {
    self.name = name
    self.url = url
  }

  /// What the scheduler goes by.
  package var policy: UpstreamPolicy {
    UpstreamPolicy(
      concurrencyMax: maxConcurrent, retry: retry, outcomes: outcomes.rules,
      reachability: reachability, ambiguity: ambiguous)
  }

  /// A header field that is set on every request.
  package struct Header: Equatable, Sendable {
    /// The field's name as it was written.
    package var name: String
    /// Its value, which is likely to be a credential.
    package var value: Secret

    /// A field.
    package init(name: String, value: Secret) {
      self.name = name
      self.value = value
    }
  }

  /// Whether `name` can be an upstream's: it stands in paths, and so must need no escape.
  package static func isName(_ name: String) -> Bool {
    guard (1...nameBytesMax).contains(name.utf8.count), name != ".", name != ".." else {
      return false
    }
    return name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "-"):
        true
      default: false
      }
    }
  }
}

/// What an upstream's status codes mean; those that stand in neither set are refusals.
package struct OutcomesConfiguration: Equatable, Sendable {
  /// The upstream cannot take it now: try again.
  package var retry = StatusCodeSet(codes: [408, 425, 429], classes: [5])
  /// The upstream has taken it.
  package var deliver = StatusCodeSet(codes: [], classes: [2])

  /// The defaults.
  package init() {}

  /// The sets as the core goes by them.
  package var rules: OutcomeRules {
    OutcomeRules(deliver: deliver.statusSet, retry: retry.statusSet)
  }
}
