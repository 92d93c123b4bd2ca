/// The form of a request in which envelopes for one upstream go together.
package struct BatchForm: Hashable, Sendable {
  /// How the envelopes' bodies stand in the request's body.
  package enum Format: String, CaseIterable, Sendable {
    /// One a line (`application/x-ndjson`).
    case ndjson
    /// As an array (`application/json`).
    case json
    /// As posts to another relay, with all that their senders said of them.
    case waystation
  }

  /// How the bodies stand in it.
  package var format: Format
  /// The path and query of the request, behind the upstream's base URL.
  package var path: String
  /// The paths of envelopes that may go together; nil for every path.
  package var from: [String]?
  /// The most bytes of the request's body.
  package var bytesMax: Int
  /// Whether the request's body is sent as gzip.
  package var isCompressed = false
  /// Whether an answer that has no result for each envelope settles none, whatever its status.
  package var requiresResults = false
  /// Whether an answer with 2xx is for all envelopes, whatever it says; 207 is not, by its meaning.
  package var hasNoResults = false
  /// The upstream's name at the next relay; nil unless ``format`` says that it is one.
  package var upstream: String?

  /// Whether the upstream is another relay.
  package var isRelay: Bool { upstream != nil }

  /// Sets all of it.
  package init(
    format: Format, path: String, from: [String]?, bytesMax: Int, upstream: String? = nil
  ) {
    precondition(bytesMax >= 1)
    self.upstream = upstream
    self.format = format
    self.path = path
    self.from = from
    self.bytesMax = bytesMax
  }
}
