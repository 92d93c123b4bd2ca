/// A client as listed.
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

/// A page of the clients, by name.
package struct ClientPage: Sendable {
  /// The clients, in the order of their names' bytes.
  package var clients: [ListedClient]
  /// Whether more follow.
  package var hasMore: Bool

  /// Puts a page together.
  package init(clients: [ListedClient], hasMore: Bool) {
    self.clients = clients
    self.hasMore = hasMore
  }
}

/// A page of the lanes, by number.
package struct LaneNamePage: Sendable {
  /// The lanes, in the order in which they were first used.
  package var lanes: [(number: LaneNumber, name: LaneName)]
  /// Whether more follow.
  package var hasMore: Bool

  /// Puts a page together.
  package init(lanes: [(number: LaneNumber, name: LaneName)], hasMore: Bool) {
    self.lanes = lanes
    self.hasMore = hasMore
  }
}

/// A store of the names of clients and lanes, whether or not anything waits in them.
///
/// All calls may come from any thread. Reads see the last commit.
package protocol NameStore: Sendable {
  /// Lists clients whose names begin with a prefix, in the order of the names' bytes.
  ///
  /// - Parameters:
  ///   - prefix: The beginning of the names; empty for all.
  ///   - name: The name after which to go on; empty for the beginning.
  ///   - countMax: The most clients to return. A page whose clients have very many lanes may be
  ///     shorter.
  func clients(
    prefix: String, after name: String, countMax: Int
  ) async throws(StoreError) -> ClientPage

  /// Lists lanes, in the order in which they were first used.
  ///
  /// - Parameters:
  ///   - client: The client whose lanes to list; nil for all.
  ///   - number: The lane after which to go on; nil for the beginning.
  ///   - countMax: The most lanes to return.
  func lanes(
    of client: String?, after number: LaneNumber?, countMax: Int
  ) async throws(StoreError) -> LaneNamePage
}
