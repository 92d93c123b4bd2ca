import RelayCore

/// The configuration of requests in which envelopes for one upstream go together.
package struct BatchConfiguration: KeyedSection, Sendable {
  package var format: BatchForm.Format?
  package var path = "/"
  package var from: [String]?
  package var itemsMax = 500
  package var bytesMax = 1024 * 1024
  package var lingerMs = 0

  /// Nothing goes together.
  package init() {}

  /// The scheduler's rules; nil if nothing goes together.
  var policy: BatchPolicy? {
    format.map { _ in BatchPolicy(itemsMax: itemsMax, lingerMs: Int64(lingerMs)) }
  }

  /// The form of a request; nil if nothing goes together.
  var form: BatchForm? {
    format.map { BatchForm(format: $0, path: path, from: from, bytesMax: bytesMax) }
  }

  @KeyList static var keys: [Key] {
    Key(
      "format", \.format, .unlessAbsent(.word),
      "how the bodies stand in the request: `\"ndjson\"`, one a line, or `\"json\"`, as an array",
      isRequired: true)
    Key("path", \.path, pathForm, "where the requests go, behind `url`")
    Key(
      "from", \.from,
      .unlessAbsent(
        .list("an array of paths, each from the leading \"/\" and without a query") {
          isPath($0) && !$0.contains("?") ? $0 : nil
        }), absent: "every path", "the paths of envelopes that go together; others go alone")
    Key("itemsMax", \.itemsMax, .integer(1...10_000), "the most envelopes in one request")
    Key(
      "bytesMax", \.bytesMax, .integer(1024...(64 << 20)),
      "the most bytes of its body. A larger envelope goes alone")
    Key(
      "lingerMs", \.lingerMs, .integer(0...60_000),
      """
      how long a request that is not full waits for more envelopes, while another one is under way
      """)
  }

  private static var pathForm: KeyForm<String> {
    .text("a path with its query, from the leading `/`", isPath)
  }

  private static func isPath(_ text: String) -> Bool {
    TargetSyntax.refusal(of: Array(text.utf8)[...]) == nil
  }
}
