import JSON
import RelayCore

/// One service that envelopes go to, and how it is treated; what stands here are the defaults.
package struct UpstreamConfiguration: Equatable, Sendable {
  /// The least version of TLS where the configuration names none.
  package static let minTLSVersionUsual = TLSConfiguration.Version.tls12
  /// How long a connection may take to be made where the configuration does not say, in
  /// milliseconds.
  package static let connectTimeoutMsUsual = 10_000

  /// Its name in envelopes: letters, digits, `.`, `_` and `-`, at most ``nameBytesMax``.
  package var name: String
  package var url: UpstreamURL
  package var headers: [Header] = []
  package var connectTimeoutMs = connectTimeoutMsUsual
  package var attemptTimeoutMs: Int? = 120_000
  package var idleTimeoutMs: Int?
  package var maxConcurrent = 64
  package var requestsPerSecondMax: Double?
  package var burst: Int?
  package var retryAfterHolds = RetryAfterScope.upstream
  package var retry = RetryPolicy.standard
  package var onFailure = FailurePolicy.skip
  package var deadlineSeconds = 604_800
  package var outcomes = OutcomesConfiguration()
  package var responseBodyBytesMax = 64 * 1024
  package var reuseConnections = true
  package var proxy: ProxyURL?
  package var ambiguous = AmbiguityPolicy.retry
  /// The path at which it says whether it has an envelope; set if, and only if, ``ambiguous`` is
  /// `verify`.
  package var verify: VerificationPath?
  package var batch = BatchConfiguration()
  package var reachability = ReachabilityPolicy.standard
  package var startPaused = false
  package var certificateAuthorities: String?
  /// What the relay shows the upstream in each request; nil for what ``headers`` have.
  package var credentials: CredentialsConfiguration?
  /// The file of the certificate that the upstream is shown; set if, and only if, ``clientKey`` is.
  package var clientCertificate: String?
  package var clientKey: String?
  package var http2 = true
  package var minTLSVersion = Self.minTLSVersionUsual
  package var passHeaders: [String] = []
  package var takesContentRange = false
  package var signing: SigningConfiguration?
  /// The secrets that variables brought into its fields and its base path.
  package var secretVariables: [Secret] = []

  /// The longest name of an upstream, in bytes.
  package static let nameBytesMax = 64

  /// An upstream with the defaults.
  package init(name: String, url: UpstreamURL) {
    self.name = name
    self.url = url
  }

  /// The scheduler's policy for this upstream.
  package var policy: UpstreamPolicy {
    UpstreamPolicy(
      concurrencyMax: maxConcurrent, rate: rate, holdsAllLanes: retryAfterHolds == .upstream,
      retry: retry, outcomes: outcomes.rules,
      reachability: reachability, ambiguity: ambiguous, batch: batch.policy)
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

extension UpstreamConfiguration: KeyedSection {
  /// A day, in milliseconds.
  private static let delays = 1...86_400_000

  @KeyList static var keys: [Key] {
    Key(
      "url", \.url, "a URL, `http` or `https`",
      "the base URL; an envelope's path goes behind it", isRequired: true,
      read: { upstream, reader in
        let url = reader.readURL("url", secrets: &upstream.secretVariables)
        if let url { upstream.url = url }
      },
      write: { $1.member("url", $0.shownURL) })
    Key.headers(
      \.headers, secrets: \.secretVariables,
      "fields that are set on every request, in place of the sender's of the same name")
    Key(section: "credentials", \.credentials, from: CredentialsConfiguration())
    Key(
      "connectTimeoutMs", \.connectTimeoutMs, .integer(delays),
      "how long a connection may take to be made")
    Key(
      "attemptTimeoutMs", \.attemptTimeoutMs, .optional(.integer(delays)),
      """
      how long a whole attempt may take; `null` for as long as bytes move, where `idleTimeoutMs` \
      is set
      """)
    Key(
      "idleTimeoutMs", \.idleTimeoutMs, .optional(.integer(delays)),
      "for how long no byte may move in either direction, once there is a connection")
    Key(
      "maxConcurrent", \.maxConcurrent, .integer(1...10_000),
      "the most attempts in flight; 1 makes a series")
    Key(
      "requestsPerSecondMax", \.requestsPerSecondMax, .optional(.number(0.001...1_000_000)),
      "the most requests a second in the long run; one that carries a batch counts once")
    Key(
      "burst", \.burst, .optional(.integer(1...1_000_000)), absent: "those of 0.1 s",
      "how many of them at once after a pause; only with `requestsPerSecondMax`")
    Key(
      "reuseConnections", \.reuseConnections, .flag,
      """
      whether a connection carries one request after the other. `false` for an upstream that \
      sends [more than its answers](#when-an-upstream-misbehaves): each request then has a \
      connection of its own
      """)
    Key(section: "retry", \.retry)
    Key(
      "onFailure", \.onFailure, .word,
      "`\"skip\"`: a refused envelope becomes a dead letter. `\"block\"`: its lane stands")
    Key(
      "deadlineSeconds", \.deadlineSeconds, .integer(1...Configuration.secondsMax),
      "how long after acceptance an envelope expires, unless it says otherwise")
    Key(section: "outcomes", \.outcomes)
    Key(
      "responseBodyBytesMax", \.responseBodyBytesMax, .integer(0...(1 << 30)),
      "how much of an answer's body is kept for the device")
    Key(
      "retryAfterMaxSeconds", \.retry.retryAfterMaxMs, .seconds(0...Configuration.secondsMax),
      "the longest wait for which a `Retry-After` is honoured")
    Key(
      "retryAfterHolds", \.retryAfterHolds, .word,
      """
      who waits when an answer [says that requests come too fast](#pace): the `\"upstream\"` with \
      all its lanes, or the `\"lane\"` alone
      """)
    Key(
      "proxy", \.proxy, "`http://user:password@proxy:3128`",
      "the HTTP proxy to go through. The environment's proxy variables are not heeded",
      read: { $0.proxy = $1.readProxy() },
      write: { upstream, json in
        json.member("proxy") { json in
          if let proxy = upstream.proxy { json.string(proxy.description) } else { json.null() }
        }
      })
    Key(section: "reachability", \.reachability)
    Key(
      "startPaused", \.startPaused, .flag, "whether it is paused when it is first configured so")
    Key.certificateAuthorities(
      \.certificateAuthorities,
      """
      a PEM file with the authorities that may have signed the upstream's certificate, and no \
      others
      """)
    Key(
      "clientCertificate", \.clientCertificate,
      .unlessAbsent(.path("the path of a certificate's PEM file")),
      """
      the certificate that the relay [shows the upstream](#client-certificates), with those that \
      lead to its root behind it
      """)
    Key(
      "clientKey", \.clientKey, .unlessAbsent(.path("the path of a key's PEM file")),
      "its key, without a passphrase")
    Key(
      "http2", \.http2, .flag,
      "whether [HTTP/2](operating.md#http2) is used where the upstream offers it over TLS")
    Key("minTLSVersion", \.minTLSVersion, .word, "the oldest version of TLS that is spoken")
    Key(
      "passHeaders", \.passHeaders, "an array of field names, such as `[\"Link\"]`",
      """
      fields of its answers that devices get although they are \
      [held back](protocol.md#what-an-answer-brings)
      """,
      read: { $1.passHeaders("passHeaders", into: &$0.passHeaders) },
      write: { upstream, json in
        json.memberArray("passHeaders") { json in
          for name in upstream.passHeaders { json.string(name) }
        }
      })
    Key(
      "takesContentRange", \.takesContentRange, .flag,
      """
      whether it puts together parts that are sent with [`Content-Range`](protocol.md#parts). \
      Most servers take such a part for the whole, so it is refused unless this is `true`
      """)
    Key(section: "signing", \.signing, from: SigningConfiguration(keys: []))
    Key(
      "ambiguous", \.ambiguous, .word,
      "what is done about an envelope that may have arrived; see below")
    Key(section: "verify", \.verification, isWritten: { $0.verify != nil })
    Key(section: "batch", \.batch, isWritten: { $0.batch.format != nil })
  }

  /// The names of the upstreams that differ, as keys.
  static func differences(_ new: [Self], _ old: [Self]) -> [String] {
    let changed = new.filter { upstream in old.first { $0.name == upstream.name } != upstream }
    let gone = old.filter { upstream in !new.contains { $0.name == upstream.name } }
    return (changed + gone).map { "upstreams.\($0.name)" }
  }
}

/// The meaning of an upstream's status codes; those in neither set are refusals.
package struct OutcomesConfiguration: Equatable, Sendable {
  package var retry = StatusCodeSet(codes: [408, 425, 429], classes: [5])
  package var deliver = StatusCodeSet(codes: [], classes: [2])

  /// The defaults.
  package init() {}

  /// The sets as the core goes by them.
  package var rules: OutcomeRules {
    OutcomeRules(deliver: deliver.statusSet, retry: retry.statusSet)
  }
}

extension OutcomesConfiguration: KeyedSection {
  @KeyList static var keys: [Key] {
    Key(
      "retry", \.retry, .statusCodes,
      "the statuses that mean: try again. What stands in neither set is a refusal")
    Key("deliver", \.deliver, .statusCodes, "the statuses that mean: taken")
  }
}
