/// The store could not do what was asked.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is, which decides what the sender is told.
  package enum Kind: Sendable, Equatable {
    /// There is no room. Nothing was written; it goes on by itself when there is room again.
    case diskFull
    /// The disk did not do what was asked of it.
    case inputOutput
    /// What was read makes no sense.
    case corrupt
    /// The store's files are not in their places any more: what is written would be lost.
    case displaced
    /// Another process owns the data folder.
    case inUse
    /// The store was written by a newer version of Waystation.
    case newerSchema
    /// Another relay holds the lease by now.
    case leaseLost
    /// The store has been closed.
    case closed
    /// Anything else that the database said.
    case other
  }

  /// What kind of trouble it is.
  package var kind: Kind
  /// What was being done: "open", "commit", "read an envelope".
  package var operation: String
  /// What it was being done to: a path, an id.
  package var subject: String
  /// What the library or the system said, and what to do about it.
  package var detail: String

  /// Describes the trouble.
  package init(kind: Kind, operation: String, subject: String, detail: String) {
    self.kind = kind
    self.operation = operation
    self.subject = subject
    self.detail = detail
  }

  /// One sentence for a log or a terminal.
  package var description: String { "cannot \(operation) \(subject): \(detail)" }
}
