import HTTPServer
import RelayCore

/// The parameters of `GET /v1/events`: which events, and after which one.
package struct EventParameters: Sendable {
  /// Which events.
  package private(set) var filter = EventFilter()
  /// The last event that the listener has seen; nil if it comes for the first time.
  package private(set) var lastSeen: EventID?

  private static let names = ["client", "lane", "upstream", "envelope", "after"]
  private static let field = "Last-Event-ID"

  /// Reads the query and `Last-Event-ID`.
  ///
  /// The header beats `after`: a browser that comes back repeats the query as it was.
  ///
  /// - Parameter sender: The client that asks, where a credential says which: it hears its own.
  /// - Throws: `unknown-field`, `invalid-field`, `unknown-envelope` or `forbidden`; the first thing
  ///   that is wrong decides.
  package init(_ head: RequestHead, from sender: String? = nil) throws(Problem) {
    let items = try QueryItems.read(head.query)
    var seen: Set<String> = []
    for (name, value) in items {
      guard Self.names.contains(name) else {
        throw .unknownParameter(name, among: Self.names)
      }
      guard seen.insert(name).inserted else {
        throw .invalidField(name, "\(name) is given twice.", fix: "Give \(name) once.")
      }
      try read(name, value)
    }
    filter.client = try Caller.client(filter.client, of: sender, field: "client")
    if let text = head.string(of: "Last-Event-ID"), !text.isEmpty {
      lastSeen = try Self.id(text, field: Self.field)
    }
  }

  private mutating func read(_ name: String, _ value: String) throws(Problem) {
    switch name {
    case "after": lastSeen = try Self.id(value, field: name)
    case "envelope":
      guard let id = EnvelopeID(parsing: value) else { throw .unknownEnvelope(value) }
      filter.envelope = id
    default:
      guard NameSyntax.isName(Array(value.utf8)[...]) else {
        throw .invalidField(
          name, "\(name) is \(value.quoted); it has to be \(NameSyntax.rule).")
      }
      switch name {
      case "client": filter.client = value
      case "lane": filter.lane = value
      default: filter.upstream = value
      }
    }
  }

  private static func id(_ text: String, field: String) throws(Problem) -> EventID {
    guard let id = EventID(parsing: text) else {
      throw .invalidField(
        field, "\(text.quoted) is no event's id.",
        fix: "Give the id of the last event that was seen as it came, or leave it out for a"
          + " snapshot.")
    }
    return id
  }
}
