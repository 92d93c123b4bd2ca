#if PostgreSQL
import RelayCore

/// What the writer was handed.
struct DatabaseInbox: Sendable {
  var requests: [DatabaseRequest] = []
  var transitions: [Transition] = []
  var isClosing = false

  var isEmpty: Bool { requests.isEmpty && transitions.isEmpty }
}

/// A call that waits for the writer.
enum DatabaseRequest: Sendable {
  case append(AppendRequest)
  case task(DatabaseTask)

  func fail(_ error: StoreError) {
    switch self {
    case .append(let append): append.resume(.failure(error))
    case .task(let task): task.fail(error)
    }
  }
}

/// Posts that wait to be written.
struct AppendRequest: Sendable {
  let drafts: [EnvelopeDraft]
  let isAtomic: Bool
  let resume: @Sendable (Result<[AppendResult], StoreError>) -> Void

  var byteCount: Int { drafts.reduce(0) { $0 + Int($1.content.byteCount) } }
}

/// Anything else that is to be written, in a transaction of its own.
struct DatabaseTask: Sendable {
  /// Does it, and answers.
  let run: @Sendable (DatabaseWriter) -> Void
  let fail: @Sendable (StoreError) -> Void
}
#endif
