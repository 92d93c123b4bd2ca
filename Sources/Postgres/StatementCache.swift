#if PostgreSQL
/// The statements that a connection's server is known to have prepared.
///
/// They outlive transactions, failed ones as well. A name is never used twice, so what became of a
/// statement whose answer has not been seen does not matter.
struct StatementCache {
  /// What is prepared: a text, and the types of its parameters.
  struct Key: Hashable {
    var sql: String
    var types: [UInt32]

    init(_ command: PostgresCommand) {
      sql = command.sql
      types = command.values.map(\.typeNumber)
    }
  }

  /// The number of statements from which on all are forgotten, and prepared anew at their next use.
  static let countMax = 256

  private var names: [Key: String] = [:]
  private var lastNumber = 0

  /// Whether the server is to forget its statements before the next ones.
  var isFull: Bool { names.count >= Self.countMax }

  /// The name of a prepared statement.
  func name(of key: Key) -> String? { names[key] }

  /// A name that no statement has had.
  mutating func newName() -> String {
    lastNumber += 1
    return "w\(lastNumber)"
  }

  /// Notes that the server has prepared a statement.
  mutating func add(_ key: Key, name: String) { names[key] = name }

  /// Forgets a statement, which is then prepared anew under another name.
  mutating func remove(_ key: Key) { names[key] = nil }

  /// Forgets all.
  mutating func removeAll() { names = [:] }
}
#endif
