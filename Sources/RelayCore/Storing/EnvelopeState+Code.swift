/// The codes of the vocabulary's words in a database, whichever it is.
///
/// Fixed for good.
extension EnvelopeState {
  /// The ends in the order of their codes.
  package static let ends = allCases.filter(\.isEnd)
    .sorted { ($0.endCode ?? 0) < ($1.endCode ?? 0) }

  /// The code of an end, from 1 without a gap; nil if the state is no end.
  package var endCode: Int64? {
    switch self {
    case .delivered: 1
    case .failed: 2
    case .expired: 3
    case .cancelled: 4
    case .held, .queued, .parked, .delivering, .blocked: nil
    }
  }

  /// The end of this code; nil for a number that is none.
  package static func end(ofCode code: Int64) -> EnvelopeState? {
    ends.first { $0.endCode == code }
  }
}

extension FailurePolicy {
  /// The policy's code.
  package var code: Int64 { self == .skip ? 0 : 1 }

  /// The policy of this code.
  package init(code: Int64) { self = code == 0 ? .skip : .block }
}

extension Outcome {
  /// The outcome's code.
  package var code: Int64 {
    switch self {
    case .delivered: 0
    case .unreachable: 1
    case .refused: 2
    case .ambiguous: 3
    }
  }

  /// The outcome of this code; nil for a number that is none.
  package static func of(code: Int64) -> Outcome? { allCases.first { $0.code == code } }
}

extension EnvelopeID {
  /// The 16 bytes of the id (RFC 9562 section 4).
  package var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      for index in 0..<8 {
        buffer[index] = UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * index))
        buffer[index + 8] = UInt8(truncatingIfNeeded: low >> UInt64(56 - 8 * index))
      }
      count = 16
    }
  }

  /// The id of these bytes; nil unless there are 16.
  package init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    func word(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: word(0..<8), low: word(8..<16))
  }
}

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
