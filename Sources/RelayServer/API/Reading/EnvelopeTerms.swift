import RelayCore

/// What a sender says of one envelope beside the request itself; nil is what it did not say.
struct EnvelopeTerms: Sendable {
  var client: String?
  var key: String?
  var lane: String?
  var sequence: Int64?
  var tag: String?
  var hold: Bool?
  var notBefore: WallTime?
  var expiresAt: WallTime?
  var onFailure: FailurePolicy?
  var coalesce: String?
  var references: Bool?
}
