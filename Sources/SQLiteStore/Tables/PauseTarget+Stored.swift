import RelayCore

extension PauseTarget {
  /// The kinds of targets, by their codes in the database: fixed for good.
  enum Kind: Int64, StoredCode {
    case upstream = 0
    case client = 1
    case lane = 2

    /// The code.
    var code: Int64 { rawValue }

    /// The table in which the target's name is.
    var table: String { "\(self)" }
  }

  /// The kind.
  var kind: Kind {
    switch self {
    case .upstream: .upstream
    case .client: .client
    case .lane: .lane
    }
  }

  /// The store's number of it.
  var number: Int64 {
    switch self {
    case .upstream(let number): Int64(number.rawValue)
    case .client(let number): number.rawValue
    case .lane(let number): number.rawValue
    }
  }

  /// The target in a row.
  init(kindCode: Int64, number: Int64) throws(StoreError) {
    switch Kind(rawValue: kindCode) {
    case .upstream: self = .upstream(UpstreamNumber(rawValue: Int32(truncatingIfNeeded: number)))
    case .client: self = .client(ClientNumber(rawValue: number))
    case .lane: self = .lane(LaneNumber(rawValue: number))
    case nil: throw .invalidRow("a pause of kind \(kindCode)")
    }
  }
}
