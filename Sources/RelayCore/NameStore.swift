/// A client, as a list of clients has it.
package struct ListedClient: Hashable, Sendable {
  /// The store's number of it.
  package var number: ClientNumber
  /// Its name.
  package var name: String
  /// Its lanes, in the order in which they were first used; at most
  /// ``StoreLimits/lanesShownMax``.
  package var lanes: [LaneNumber]

  /// Puts an entry together.
  package init(number: ClientNumber, name: String, lanes: [LaneNumber]) {
    self.number = number
    self.name = name
    self.lanes = lanes
  }
}

/// A stretch of the clients, by name.
package struct ClientPage: Sendable {
  /// What was found, in the order of the names' bytes.
  package var clients: [ListedClient]
  /// Whether more follow.
  package var hasMore: Bool

  /// Puts a page together.
  package init(clients: [ListedClient], hasMore: Bool) {
    self.clients = clients
    self.hasMore = hasMore
  }
}

/// A stretch of the lanes, by number.
package struct LaneNamePage: Sendable {
  /// What was found, in the order in which the lanes were first used.
  package var lanes: [(number: LaneNumber, name: LaneName)]
  /// Whether more follow.
  package var hasMore: Bool

  /// Puts a page together.
  package init(lanes: [(number: LaneNumber, name: LaneName)], hasMore: Bool) {
    self.lanes = lanes
    self.hasMore = hasMore
  }
}

/// What clients and lanes there are: all that were ever named, whether or not anything waits.
///
/// All calls may come from any thread. What is read is what was last committed.
package protocol NameStore: Sendable {
  /// Clients whose names begin with something, in the order of the names' bytes.
  ///
  /// - Parameters:
  ///   - prefix: What the names begin with; empty for all.
  ///   - name: Only those behind this name; empty for the beginning.
  ///   - countMax: How many at the most. A page whose clients have very many lanes may be shorter.
  func clients(
    prefix: String, after name: String, countMax: Int
  ) async throws(StoreError) -> ClientPage

  /// Lanes, in the order in which they were first used.
  ///
  /// - Parameters:
  ///   - client: Only this one's; nil for everybody's.
  ///   - number: Only those behind this one; nil for the beginning.
  ///   - countMax: How many at the most.
  func lanes(
    of client: String?, after number: LaneNumber?, countMax: Int
  ) async throws(StoreError) -> LaneNamePage
}
