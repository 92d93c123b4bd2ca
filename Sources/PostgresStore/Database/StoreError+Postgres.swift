#if PostgreSQL
import Postgres
import RelayCore

extension StoreError {
  /// What the database said, as an error of the store.
  init(_ error: PostgresError) {
    self.init(
      kind: Self.kind(of: error), operation: Self.operation(of: error), subject: error.subject,
      detail: error.detail)
  }

  /// Words that the subject, a place, follows: a statement's first word is a verb alone.
  private static func operation(of error: PostgresError) -> String {
    if error.operation == "connect" { return "connect to" }
    return error.operation.contains(" ") ? error.operation : error.operation + " in"
  }

  private static func kind(of error: PostgresError) -> Kind {
    switch error.kind {
    case .unreachable, .denied, .lost, .unconfirmed: return .inputOutput
    case .invalid: return .other
    case .rejected: break
    }
    return switch error.sqlState {
    case PostgresError.fencedOff: .leaseLost
    // insufficient_resources, disk_full
    case "53000", "53100": .diskFull
    // data_corrupted, index_corrupted
    case "XX001", "XX002": .corrupt
    default: .other
    }
  }

  static func closed(operation: String) -> StoreError {
    StoreError(kind: .closed, operation: operation, subject: "the store", detail: "it is closed")
  }

  /// What was read may show a commit of which nobody knows whether it was made.
  static let notTold = StoreError(
    kind: .inputOutput, operation: "read", subject: "the store",
    detail: "the outcome of the last transaction is not known yet")

  /// A row that this program has not written.
  static func invalidRow(_ what: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "read", subject: "the store",
      detail: "it holds \(what), which makes no sense")
  }
}

extension PostgresError {
  /// The SQLSTATE that `fence` raises: the seat is gone, or a shard is another's.
  static let fencedOff = "WS001"

  /// This relay may not write any more, for a reason.
  static func fencedOff(from address: PostgresAddress, _ reason: String) -> PostgresError {
    PostgresError(
      kind: .rejected, operation: "write to", subject: address.subject, detail: reason,
      sqlState: fencedOff)
  }
}
#endif
