import HTTPServer
import RelayCore

/// The query of a list: some words, each given at most once, and how many are wanted.
package struct PageParameters: Sendable {
  /// The most items on a page.
  package private(set) var limit: Int
  private var values: [String: String] = [:]
  private let names: [String]

  /// The number of items on a page unless a limit is given.
  package static let limitDefault = 50
  /// The most of a page.
  package static let limitMax = 200

  /// Reads a query string.
  ///
  /// - Parameters:
  ///   - names: The words that it may have.
  ///   - isPaged: Whether it may have a `limit` beside them.
  /// - Throws: `unknown-field` or `invalid-field`; the first thing that is wrong decides.
  package init(
    _ query: ArraySlice<UInt8>?, _ names: [String], isPaged: Bool = true
  ) throws(Problem) {
    self.names = isPaged ? names + ["limit"] : names
    limit = Self.limitDefault
    let items = try QueryItems.read(query)
    for (name, value) in items {
      guard self.names.contains(name) else { throw .unknownParameter(name, among: self.names) }
      guard values.updateValue(value, forKey: name) == nil else {
        throw .invalidField(name, "\(name) is given twice.", fix: "Give \(name) once.")
      }
    }
    if let text = values["limit"] { limit = try Self.limit(text) }
  }

  /// The text of a word; nil if it is not given.
  package func text(_ name: String) -> String? { values[name] }

  /// A name, or the beginning of one.
  ///
  /// - Throws: `invalid-field` for what no name is or begins with.
  package func name(_ name: String) throws(Problem) -> String? {
    guard let value = values[name] else { return nil }
    guard NameSyntax.isName(Array(value.utf8)[...]) else {
      throw .invalidField(
        name, "\(name) is \(value.quoted); it has to be \(NameSyntax.rule).")
    }
    return value
  }

  /// A number that an earlier page named as where to go on.
  ///
  /// - Throws: `invalid-field` for anything else.
  package func cursor(_ name: String) throws(Problem) -> Int64? {
    guard let value = values[name] else { return nil }
    guard (1...18).contains(value.utf8.count),
      value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(value)
    else { throw Self.noCursor(name, value) }
    return number
  }

  /// An upload that an earlier page named as where to go on.
  ///
  /// - Throws: `invalid-field` for anything else.
  package func upload(_ name: String) throws(Problem) -> UploadID? {
    guard let value = values[name] else { return nil }
    guard let id = UploadID(parsing: value) else { throw Self.noCursor(name, value) }
    return id
  }

  private static func noCursor(_ name: String, _ value: String) -> Problem {
    .invalidField(
      name, "\(value.quoted) is no place in the list.",
      fix: "Give next as the page before had it, or leave \(name) out to begin anew.")
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
}
