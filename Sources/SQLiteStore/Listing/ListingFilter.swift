import RelayCore
import SQLite

/// A row of the line, as read by a listing.
struct LineRow {
  let serial: Serial
  let client: Int64
  let lane: Int64
  let upstream: Int64
  let standing: Int64

  /// Reads the present row of a walk along the line.
  init(_ row: borrowing Statement) {
    serial = row.int(0)
    client = row.int(1)
    lane = row.int(2)
    upstream = row.int(3)
    standing = row.int(4)
  }
}

/// A filter with the store's numbers in place of names, for use on narrow rows.
struct ListingFilter {
  private let filter: EnvelopeFilter
  /// The selection that the filter makes.
  let selection: EnvelopeSelection
  private var client: Int64?
  private var lane: Int64?
  private var upstream: Int64?
  /// For a lane without a client: whether the lane of a number has the name, as far as is known.
  private var namedLanes: [Int64: Bool] = [:]

  /// The requested ends, a bit for each code.
  let ends: Int64
  /// The standings in which an envelope can pass, a bit for each code.
  let standings: Int64
  /// The range of the line in which an envelope can pass, since the envelopes in flight are known.
  let lineRange: ClosedRange<Serial>

  /// The condition that most rows fail, for the database to check.
  var sieve: ListingPrefilter {
    if let lane { return .lane(lane) }
    if let client { return .client(client) }
    if let tag = selection.tag { return .tag(tag) }
    return upstream.map { .upstream($0) } ?? .none
  }

  /// The terms that a block's index must have.
  var searchTerms: [SearchTerm] {
    let terms = [client.map { SearchTerm(client: $0) }, selection.tag.map { SearchTerm(tag: $0) }]
    return terms.compactMap { $0 }
  }

  /// Looks the names up; nil if one of them is not known, so that nothing can pass.
  init?(_ filter: EnvelopeFilter, _ reader: Reader) throws(StoreError) {
    self.filter = filter
    let selection = filter.selection
    self.selection = selection
    ends = selection.states.compactMap(\.endCode).reduce(0) { $0 | 1 << $1 }
    let isFlying = selection.states.contains(.delivering) && !filter.inFlight.isEmpty
    // An envelope that is being delivered is stored as queued.
    let isEnded = !selection.ended.isEverything
    standings = Standing.allCases.filter {
      !isEnded && (selection.states.contains($0.state) || $0 == .queued && isFlying)
    }.reduce(0) { $0 | 1 << Int64($1.rawValue) }
    lineRange =
      selection.states.filter { !$0.isEnd } == [.delivering]
      ? (filter.inFlight.min() ?? 0)...(filter.inFlight.max() ?? 0) : 0...Serial.max
    if let name = selection.client {
      client = try reader.sql.findClient.first(name) { $0.int(0) }
      guard client != nil else { return nil }
    }
    if let name = selection.upstream {
      upstream = try reader.listing.findUpstream.first(name) { $0.int(0) }
      guard upstream != nil else { return nil }
    }
    if let client, let name = selection.lane {
      lane = try reader.listing.findLane.first(client, name) { $0.int(0) }
      guard lane != nil else { return nil }
    }
  }

  /// Whether the envelope in a row of the line passes.
  mutating func passes(line row: LineRow, _ reader: Reader) throws(StoreError) -> Bool {
    guard client == nil || client == row.client, lane == nil || lane == row.lane,
      upstream == nil || upstream == row.upstream
    else { return false }
    guard filter.wants(try Standing(code: row.standing), of: row.serial) else { return false }
    guard try isNamed(row.lane, reader) else { return false }
    guard selection.tag != nil || filter.anyOfTags != nil else { return true }
    return try passes(envelope: row.serial, reader)
  }

  /// Whether an envelope that has ended in a requested way passes.
  mutating func passes(ended serial: Serial, _ reader: Reader) throws(StoreError) -> Bool {
    guard
      client != nil || upstream != nil || selection.lane != nil || selection.tag != nil
        || filter.anyOfTags != nil || !selection.accepted.isEverything
    else { return true }
    return try passes(envelope: serial, reader)
  }

  private mutating func passes(
    envelope serial: Serial, _ reader: Reader
  ) throws(StoreError) -> Bool {
    let row = reader.listing
    row.leading.set(serial)
    do throws(StoreError) {
      guard try row.leading.step() else { return false }
    } catch {
      guard error.kind == .corrupt else { throw error }
      return try passes(quarantined: serial, reader)
    }
    defer { row.leading.reset() }
    guard client == nil || client == row.leading.int(0),
      lane == nil || lane == row.leading.int(1),
      upstream == nil || upstream == row.leading.int(2),
      selection.tag == nil || selection.tag == row.leading.text(3),
      try isAcceptedInTime(row.leading)
    else { return false }
    if let tags = filter.anyOfTags {
      guard let tag = row.leading.text(3), tags.contains(tag) else { return false }
    }
    return try isNamed(row.leading.int(1), reader)
  }

  private func isAcceptedInTime(_ leading: borrowing Statement) throws(StoreError) -> Bool {
    if selection.accepted.isEverything { return true }
    return selection.accepted.contains(try leading.id(4).acceptedAt)
  }

  /// Whether an unreadable envelope passes, as far as anything is known of it; its tag is not.
  private mutating func passes(
    quarantined serial: Serial, _ reader: Reader
  ) throws(StoreError) -> Bool {
    guard selection.tag == nil, filter.anyOfTags == nil else { return false }
    let place = try reader.quarantine.place.first(serial) { ($0.int(1), $0.int(3), $0.int(5)) }
    guard let place, client == nil || client == place.0, lane == nil || lane == place.1,
      upstream == nil || upstream == place.2
    else { return false }
    return try isNamed(place.1, reader)
  }

  /// Whether a lane has the requested name; for a known client that was looked up before.
  private mutating func isNamed(_ number: Int64, _ reader: Reader) throws(StoreError) -> Bool {
    guard let name = selection.lane, lane == nil else { return true }
    if let known = namedLanes[number] { return known }
    guard let isNamed = try reader.sql.laneName.first(number, read: { $0.text(1) == name }) else {
      return false
    }
    namedLanes[number] = isNamed
    return isNamed
  }
}
