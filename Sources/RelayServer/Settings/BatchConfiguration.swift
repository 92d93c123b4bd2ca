import RelayCore

/// The configuration of requests in which envelopes for one upstream go together.
package struct BatchConfiguration: KeyedSection, Sendable {
  /// Whether answers have a result for each envelope.
  package enum Results: String, CaseIterable, Sendable {
    /// An answer with 2xx that has none is for all of them.
    case optional
    /// An answer that has none settles none of them.
    case required
    /// An answer with 2xx is for all of them, whatever it says.
    case none
  }

  package var format: BatchForm.Format?
  package var path: String?
  package var from: [String]?
  package var itemsMax = 500
  package var bytesMax = 1024 * 1024
  package var lingerMs = 0
  package var gzip = false
  package var results = Results.optional
  package var upstream: String?

  /// Nothing goes together.
  package init() {}

  /// The scheduler's rules; nil if nothing goes together.
  var policy: BatchPolicy? {
    format.map { _ in BatchPolicy(itemsMax: itemsMax, lingerMs: Int64(lingerMs)) }
  }

  /// The form of a request to an upstream of this name; nil if nothing goes together.
  func form(for name: String) -> BatchForm? {
    format.map { format in
      let isRelay = format == .waystation
      var form = BatchForm(
        format: format, path: path ?? (isRelay ? "/v1/envelopes" : "/"), from: from,
        bytesMax: bytesMax, upstream: isRelay ? upstream ?? name : nil)
      form.isCompressed = gzip
      form.requiresResults = results == .required
      form.hasNoResults = results == .none
      return form
    }
  }

  @KeyList static var keys: [Key] {
    Key(
      "format", \.format, .unlessAbsent(.word),
      """
      how the bodies stand in the request: `"ndjson"`, one a line; `"json"`, as an array; \
      `"waystation"`, as posts to [another relay](operating.md#hand-on-to-another-relay)
      """,
      isRequired: true)
    Key(
      "path", \.path, .unlessAbsent(pathForm), absent: "`/`",
      "where the requests go, behind `url`. Not for `\"waystation\"`")
    Key(
      "from", \.from,
      .unlessAbsent(
        .list("an array of paths, each from the leading \"/\" and without a query") {
          isPath($0) && !$0.contains("?") ? $0 : nil
        }), absent: "every path",
      """
      the paths of envelopes that go together; others have requests of their own. Not for \
      `"waystation"`
      """)
    Key(
      "upstream", \.upstream, .unlessAbsent(.text("an upstream's name", KeyNameSyntax.isName)),
      absent: "the same name", "of `\"waystation\"`: the upstream to which the next relay forwards")
    Key(
      "results", \.results, .word,
      """
      whether each answer with 2xx has [a result for each envelope]\
      (operating.md#send-envelopes-together): `"required"` has one without them tried again, \
      `"none"` has them not looked for. Not for `"waystation"`, which always has them
      """)
    Key("itemsMax", \.itemsMax, .integer(1...10_000), "the most envelopes in one request")
    Key(
      "bytesMax", \.bytesMax, .integer(1024...(64 << 20)),
      "the most bytes of its body. A larger envelope has a request of its own")
    Key(
      "lingerMs", \.lingerMs, .integer(0...60_000),
      """
      how long a request that is not full waits for more envelopes, while another one is under way
      """)
    Key(
      "gzip", \.gzip, .flag,
      """
      whether the request's body is sent with `Content-Encoding: gzip`. An envelope's own request \
      is not
      """)
  }

  private static var pathForm: KeyForm<String> {
    .text("a path with its query, from the leading `/`", isPath)
  }

  private static func isPath(_ text: String) -> Bool {
    TargetSyntax.refusal(of: Array(text.utf8)[...]) == nil
  }
}
