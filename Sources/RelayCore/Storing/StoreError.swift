/// An error of the store.
@usableFromInline
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of trouble, which decides what the sender is told.
  package enum Kind: Sendable, Equatable {
    /// The disk is full. Nothing was written; the store resumes by itself when there is room again.
    case diskFull
    /// The disk failed to read or write.
    case inputOutput
    /// Nobody knows whether it was written: the database has not said so, and is waited for no
    /// longer.
    case outcomeUnknown
    /// The data read is not valid.
    case corrupt
    /// The store's files are no longer in their places: anything written would be lost.
    case displaced
    /// Another process owns the data folder.
    case inUse
    /// The store was written by a newer version of Waystation.
    case newerSchema
    /// Another relay holds the lease by now.
    case leaseLost
    /// The store has been closed.
    case closed
    /// Any other error of the database.
    case other
  }

  /// The kind of trouble.
  package var kind: Kind
  /// The operation that failed: "open", "commit", "read an envelope".
  package var operation: String
  /// The operation's subject: a path, an id.
  package var subject: String
  /// The message of the library or the system, and what to do about it.
  package var detail: String

  /// Describes the trouble.
  package init(kind: Kind, operation: String, subject: String, detail: String) {
    self.kind = kind
    self.operation = operation
    self.subject = subject
    self.detail = detail
  }

  /// One sentence for a log or a terminal.
  @usableFromInline package var description: String { "cannot \(operation) \(subject): \(detail)" }
}
