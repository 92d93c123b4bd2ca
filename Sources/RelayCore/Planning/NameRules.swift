/// Names that are about to become known together.
package struct NewNames: Sendable {
  private var lanes: [String: Set<String>] = [:]
  private var newClients: Set<String> = []
  fileprivate var laneCount = 0
  fileprivate var clientCount: Int { newClients.count }

  /// None.
  package init() {}

  /// Notes a lane, and its client if that is new.
  fileprivate mutating func note(_ name: LaneName, isNewClient: Bool) {
    if lanes[name.client, default: []].insert(name.lane).inserted { laneCount += 1 }
    if isNewClient { newClients.insert(name.client) }
  }

  fileprivate func has(_ name: LaneName) -> Bool {
    lanes[name.client]?.contains(name.lane) ?? false
  }
  fileprivate func has(client: String) -> Bool { newClients.contains(client) }
  fileprivate func laneCount(of client: String) -> Int { lanes[client]?.count ?? 0 }
}

/// The rules on how many names may be known.
package enum NameRules {
  /// The limit that keeps an unknown lane from becoming known; nil if none does.
  ///
  /// - Parameter planned: The names that become known together with it; the lane is added to them.
  package static func refusal(
    ofNew name: LaneName, besides planned: inout NewNames, facts: some AppendFacts
  ) throws(StoreError) -> QuotaRefusal? {
    guard !planned.has(name) else { return nil }
    let limits = facts.nameLimits
    let known = facts.given.names
    let client = try facts.knownClient(name.client)
    if client == nil, !planned.has(client: name.client),
      let refusal = refusal(
        .clients, isOfClient: false, limits.clientsMax,
        used: known.clients + Int64(planned.clientCount))
    {
      return refusal
    }
    var own = Int64(planned.laneCount(of: name.client))
    if let client { own += try facts.laneCount(of: client) }
    let refusal =
      refusal(.lanes, isOfClient: true, limits.clientLanesMax, used: own)
      ?? refusal(
        .lanes, isOfClient: false, limits.lanesMax,
        used: known.lanes + Int64(planned.laneCount))
    if refusal == nil { planned.note(name, isNewClient: client == nil) }
    return refusal
  }

  /// The limit that keeps a client from becoming known; nil if none does, or it is known.
  package static func refusal(
    ofClient name: String, facts: some AppendFacts
  ) throws(StoreError) -> QuotaRefusal? {
    guard try facts.knownClient(name) == nil else { return nil }
    return refusal(
      .clients, isOfClient: false, facts.nameLimits.clientsMax, used: facts.given.names.clients)
  }

  private static func refusal(
    _ limit: QuotaRefusal.Limit, isOfClient: Bool, _ countMax: Int, used: Int64
  ) -> QuotaRefusal? {
    guard used >= Int64(countMax) else { return nil }
    return QuotaRefusal(limit: limit, isOfClient: isOfClient, max: Double(countMax), used: used)
  }
}
