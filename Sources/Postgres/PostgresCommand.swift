#if PostgreSQL
/// One statement, and the values of its parameters `$1`, `$2` and so on.
///
/// It begins or ends no transaction: a pipeline is one.
package struct PostgresCommand: Sendable {
  /// The statement.
  package var sql: String
  /// The values of its parameters, 65,535 at most.
  package var values: [PostgresValue]

  /// A statement that is written down in the source.
  package init(_ sql: StaticString, _ values: [PostgresValue] = []) {
    self.init(sql: sql.description, values)
  }

  /// A statement that is put together while the relay runs; no part of it comes from outside.
  package init(sql: String, _ values: [PostgresValue] = []) {
    precondition(values.count <= 65_535, "more parameters than the protocol can count")
    self.sql = sql
    self.values = values
  }

  /// The first word of the statement, for messages.
  var verb: String {
    let word = sql.drop { $0.isWhitespace }.prefix { $0.isLetter }.lowercased()
    return word.isEmpty ? "run" : word
  }
}
#endif
