import RelayCore

/// The terms of one envelope beside the request itself; nil for those that the sender did not name.
struct EnvelopeTerms: Sendable {
  var client: String?
  var key: String?
  var lane: String?
  var sequence: Int64?
  var tag: String?
  var hold: Bool?
  var notBefore: WallTime?
  var expiresAt: WallTime?
  var relative = RelativeTimes()
  var onFailure: FailurePolicy?
  var coalesce: String?
  var references: Bool?
  var inOrder: Bool?
}
