// What is counted of a post, by what became of it.

extension BatchResults.Item {
  /// What an item of a batch counts as.
  var counted: PostFigures.Result {
    switch self {
    case .accepted, .parked: .accepted
    case .duplicate: .duplicate
    case .coalesced: .coalesced
    case .rejected: .rejected
    }
  }
}

extension Acceptance.Result {
  /// What an envelope that was posted by itself counts as.
  var counted: PostFigures.Result {
    switch self {
    case .accepted: .accepted
    case .duplicate: .duplicate
    case .coalesced: .coalesced
    }
  }
}
