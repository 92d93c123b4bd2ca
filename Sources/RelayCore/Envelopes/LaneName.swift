/// A lane by its names.
package struct LaneName: Hashable, Sendable {
  /// The client's name.
  package var client: String
  /// The lane's name within the client.
  package var lane: String

  /// Pairs the names.
  package init(client: String, lane: String) {
    self.client = client
    self.lane = lane
  }
}
