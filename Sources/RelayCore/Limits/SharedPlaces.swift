/// The origin of a request: an IPv4 address, or an IPv6 network of 64 bits, since one peer has all
/// its addresses.
package struct PlaceSource: Hashable, Sendable {
  /// The IPv6 network; 0 for IPv4.
  package let network: UInt64
  /// The IPv4 address; 0 for IPv6.
  package let address: UInt32

  /// A source made of its parts.
  package init(network: UInt64 = 0, address: UInt32 = 0) {
    self.network = network
    self.address = address
  }
}

/// The one who takes a shared place.
package enum PlaceHolder: Hashable, Sendable {
  /// A client that a credential names; the source is nil for a process on this machine.
  case client(String, at: PlaceSource?)
  /// Someone without a name.
  case nobody(at: PlaceSource?)
  /// A named operator.
  case `operator`(String)
  /// An operator without a name, where everyone may act as one.
  case operators(at: PlaceSource?)

  /// Whether it may use the operators' reserve.
  var drawsOnReserve: Bool {
    switch self {
    case .client, .nobody: false
    case .operator, .operators: true
    }
  }
}

/// The limits on places, in all and for one holder.
package struct PlaceLimits: Equatable, Sendable {
  /// In all.
  package var total: Int
  /// For one client.
  package var perClient: Int
  /// From one source, named operators left out; also for one named operator.
  package var perSource: Int
  /// For operators only.
  package var reserve: Int

  /// Limits made of their parts.
  package init(total: Int, perClient: Int, perSource: Int, reserve: Int) {
    self.total = total
    self.perClient = perClient
    self.perSource = perSource
    self.reserve = reserve
  }
}

/// The share of the places that one holder may have.
package struct PlaceShares: Equatable, Sendable {
  /// One client's share in percent; at least one place.
  package var clientPercent = 12
  /// The share of one source or one operator in percent: larger, since a proxy or a NAT has a fleet
  /// behind it.
  package var sourcePercent = 75
  /// The operators' reserve in percent.
  package var reservePercent = 12

  /// The defaults.
  package init() {}

  /// The limits for so many places: shares are rounded up, the reserve down.
  package func limits(of total: Int) -> PlaceLimits {
    PlaceLimits(
      total: total, perClient: max(1, Self.part(clientPercent, of: total, roundsUp: true)),
      perSource: max(1, Self.part(sourcePercent, of: total, roundsUp: true)),
      reserve: Self.part(reservePercent, of: total, roundsUp: false))
  }

  private static func part(_ percent: Int, of total: Int, roundsUp: Bool) -> Int {
    (total * percent + (roundsUp ? 99 : 0)) / 100
  }
}

/// A limited number of places, shared so that nobody has all of them.
///
/// A client may have its share, and a source its own, whatever names it uses; operators have a
/// reserve that nobody else can use. All calls take constant time, and memory is bounded by the
/// number of taken places.
package struct SharedPlaces: Sendable {
  /// The share that is used up.
  package enum Share: Equatable, Sendable {
    /// The client's, the source's, or the operator's own.
    case client, source, `operator`
    /// The places of all together.
    case all
  }

  /// The reason that there is no place.
  package struct Refusal: Error, Equatable, Sendable {
    /// The share that is used up.
    package let share: Share
    /// The number of places in that share.
    package let max: Int
    fileprivate let key: Key?
  }

  fileprivate enum Key: Hashable, Sendable {
    case client(String)
    case source(PlaceSource)
    case `operator`(String)
    case operators(PlaceSource?)
  }

  /// A place that is taken, to be given back.
  package struct Place: Sendable {
    fileprivate let keys: (Key?, Key?)
    fileprivate let isReserved: Bool

    /// Whether giving it back makes room for the one that was refused.
    package func makesRoom(after refusal: Refusal) -> Bool {
      guard let key = refusal.key else { return true }
      return keys.0 == key || keys.1 == key
    }
  }

  /// The number of taken places, and of those whose holders may not use the reserve.
  private var count = 0
  private var commonCount = 0
  private var counts: [Key: Int] = [:]

  /// No place is taken.
  package init() {}

  /// The number of places taken.
  package var taken: Int { count }

  /// Takes a place; each is to be given back by ``giveBack(_:)``.
  package mutating func take(
    _ holder: PlaceHolder, _ limits: PlaceLimits
  ) throws(Refusal) -> Place {
    var keys: (Key?, Key?) = (nil, nil)
    switch holder {
    case .client(let name, let source): keys = (.client(name), source.map(Key.source))
    case .nobody(let source): keys = (nil, source.map(Key.source))
    case .operator(let name): keys = (.operator(name), nil)
    case .operators(let source): keys = (.operators(source), nil)
    }
    try check(keys.0, limits)
    try check(keys.1, limits)
    let isReserved = holder.drawsOnReserve
    guard count < limits.total else {
      throw Refusal(share: .all, max: limits.total, key: nil)
    }
    let commonMax = limits.total - limits.reserve
    guard isReserved || commonCount < commonMax else {
      throw Refusal(share: .all, max: commonMax, key: nil)
    }
    count += 1
    if !isReserved { commonCount += 1 }
    if let key = keys.0 { counts[key, default: 0] += 1 }
    if let key = keys.1 { counts[key, default: 0] += 1 }
    return Place(keys: keys, isReserved: isReserved)
  }

  private func check(_ key: Key?, _ limits: PlaceLimits) throws(Refusal) {
    guard let key else { return }
    let (share, max): (Share, Int) =
      switch key {
      case .client: (.client, limits.perClient)
      case .source: (.source, limits.perSource)
      case .operator, .operators: (.operator, limits.perSource)
      }
    guard counts[key, default: 0] < max else {
      // Where no place is left at all, the share is not the reason.
      throw count < limits.total || max < limits.total
        ? Refusal(share: share, max: max, key: key)
        : Refusal(share: .all, max: limits.total, key: nil)
    }
  }

  /// Gives a place back, once.
  package mutating func giveBack(_ place: Place) {
    count -= 1
    if !place.isReserved { commonCount -= 1 }
    release(place.keys.0)
    release(place.keys.1)
  }

  private mutating func release(_ key: Key?) {
    guard let key, let taken = counts[key] else { return }
    counts[key] = taken > 1 ? taken - 1 : nil
  }
}
