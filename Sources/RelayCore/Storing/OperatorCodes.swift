/// The codes of what operators keep in a store, whichever the database is.
///
/// Fixed for good.
extension AuditEnd.Result {
  /// The code of the result in the database, fixed for good.
  package var code: Int64 {
    switch self {
    case .begun: 0
    case .done: 1
    case .refused: 2
    case .failed: 3
    }
  }

  /// The result of this code; nil for a number that is none.
  package init?(code: Int64) {
    guard let result = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = result
  }
}

extension Operation.State {
  /// The code of the state in the database, fixed for good.
  package var code: Int64 {
    switch self {
    case .running: 0
    case .done: 1
    case .stopped: 2
    case .interrupted: 3
    }
  }

  /// The state of this code; nil for a number that is none.
  package init?(code: Int64) {
    guard let state = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = state
  }
}

/// The encoding of operations in the database, fixed for good.
package enum OperationCode {
  /// A line for each refusal: the problem, the number of envelopes, an example.
  package static func text(of refusals: [Operation.Refusal]) -> String {
    refusals.map { "\($0.problem) \($0.count) \($0.example)" }.joined(separator: "\n")
  }

  /// The refusals in a text; lines that are not valid are left out.
  package static func refusals(_ text: String) -> [Operation.Refusal] {
    text.split(separator: "\n").prefix(Operation.refusalsMax).compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let count = Int(words[1]), count >= 0,
        let example = EnvelopeID(parsing: String(words[2]))
      else { return nil }
      return Operation.Refusal(problem: String(words[0]), count: count, example: example)
    }
  }

  /// The states of a filter; words that are not valid are left out.
  package static func states(_ text: String) -> Set<EnvelopeState> {
    Set(text.split(separator: ",").compactMap { EnvelopeState(rawValue: String($0)) })
  }
}

extension TokenRecord.Grant {
  /// The kinds of tokens, by their codes in the database: fixed for good.
  package enum Kind: Int64, CaseIterable, Sendable {
    case client = 0
    case reader = 1
    case steerer = 2
    case revoked = 3

    /// The code.
    package var code: Int64 { rawValue }

    /// Whether such a token's row names a client.
    package var namesClient: Bool { self == .client || self == .revoked }

    /// The length of the digest of such a token's secret: a revoked one was made of a key, and none
    /// of its secret is stored.
    package var digestBytes: Int { self == .revoked ? 0 : 32 }
  }

  /// The kind.
  package var kind: Kind {
    switch self {
    case .client: .client
    case .operator(.read): .reader
    case .operator(.steer): .steerer
    case .revoked: .revoked
    }
  }

  /// Puts a grant together; nil if these make none.
  package init?(kindCode: Int64, client: String?) {
    switch (Kind(rawValue: kindCode), client) {
    case (.client, let client?): self = .client(client)
    case (.reader, nil): self = .operator(.read)
    case (.steerer, nil): self = .operator(.steer)
    case (.revoked, let client?): self = .revoked(client: client)
    default: return nil
    }
  }
}
