import HTTPServer
import RelayCore

/// The query parameters of `GET /v1/envelopes`.
package struct ListParameters: Sendable {
  /// Which envelopes are wanted; what is being delivered is not filled in.
  package private(set) var filter = EnvelopeFilter()
  /// The most items on a page.
  package private(set) var limit = Self.limitDefault
  /// The number behind which to go on; 0 for the beginning.
  package private(set) var start: Serial = 0

  /// The most envelopes of a page.
  package static let limitMax = 200
  /// The number of envelopes on a page unless a limit is given.
  package static let limitDefault = 50

  private static let names = SelectionField.names + ["state", "limit", "cursor"]

  /// Reads a query string.
  ///
  /// - Parameter sender: The client that asks, where a credential says which: it is shown its own.
  /// - Throws: `unknown-field`, `invalid-field` or `forbidden`; the first thing that is wrong
  ///   decides.
  package init(_ query: ArraySlice<UInt8>?, from sender: String? = nil) throws(Problem) {
    let items = try QueryItems.read(query)
    var seen: Set<String> = []
    var states: Set<EnvelopeState> = []
    var cursor: String?
    for (name, value) in items {
      guard Self.names.contains(name) else {
        throw .unknownParameter(name, among: Self.names)
      }
      guard seen.insert(name).inserted || name == "state" else {
        throw .invalidField(name, "\(name) is given twice.", fix: "Give \(name) once.")
      }
      switch name {
      case "state": try Self.read(value, into: &states)
      case "limit": limit = try Self.limit(value)
      case "cursor": cursor = value
      default: try select(name, value)
      }
    }
    filter.selection.client = try Caller.client(
      filter.selection.client, of: sender, field: "client")
    if !states.isEmpty { filter.selection.states = states }
    if let cursor { start = try Self.start(cursor, filter) }
  }

  /// The cursor behind a page.
  package func cursor(behind serial: Serial) -> ListCursor {
    ListCursor(behind: serial, of: filter)
  }

  private mutating func select(_ name: String, _ value: String) throws(Problem) {
    guard let field = SelectionField.named(name) else { preconditionFailure("no such parameter") }
    guard field.takeText(value, &filter.selection) else {
      throw .invalidField(name, "\(name) is \(value.quoted); it has to be \(field.rule).")
    }
  }

  private static func read(
    _ value: String, into states: inout Set<EnvelopeState>
  ) throws(Problem) {
    for word in value.split(separator: ",", omittingEmptySubsequences: false) {
      guard let state = EnvelopeState(rawValue: String(word)) else {
        let known = EnvelopeState.allCases.map(\.rawValue)
        let near = NearestWord.find(String(word), in: known).map { "; did you mean \"\($0)\"?" }
        throw .invalidField(
          "state", "There is no state \(String(word).quoted)\(near ?? ".")",
          fix: "Give any of \(known.joined(separator: ", ")), with commas in between.")
      }
      states.insert(state)
    }
  }

  private static func limit(_ value: String) throws(Problem) -> Int {
    guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let limit = Int(value),
      (1...limitMax).contains(limit)
    else {
      throw .invalidField(
        "limit",
        "limit is \(value.quoted); it has to be a whole number from 1 to \(limitMax).")
    }
    return limit
  }

  private static func start(
    _ text: String, _ filter: EnvelopeFilter
  ) throws(Problem) -> Serial {
    guard let cursor = ListCursor(parsing: text) else {
      throw .invalidField(
        "cursor", "\(text.quoted) is no cursor.",
        fix: "Give next as the page before had it, or leave cursor out to begin anew.")
    }
    guard cursor.belongs(to: filter) else {
      throw .invalidField(
        "cursor", "The cursor belongs to a list with another filter.",
        fix: "Repeat the filter of the page before, or leave cursor out to begin anew.")
    }
    return cursor.serial
  }
}
