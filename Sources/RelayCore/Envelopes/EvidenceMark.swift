/// What the upstream is told of an envelope of an evidence lane.
package struct EvidenceMark: Sendable, Equatable {
  /// The lane's name.
  package var lane: String
  /// The sequence number.
  package var number: Int64
  /// The digest of what a receipt covers of it.
  package var digest: [UInt8]
  /// The chain's link of the number.
  package var link: [UInt8]

  /// Puts a mark together.
  package init(lane: String, number: Int64, digest: [UInt8], link: [UInt8]) {
    self.lane = lane
    self.number = number
    self.digest = digest
    self.link = link
  }
}
