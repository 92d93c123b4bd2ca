/// The buckets of many clients, in bounded memory.
///
/// A full bucket says nothing, and is forgotten: so the table holds the clients of late, however
/// many names there are. Names are known by a 64-bit hash alone, seeded by the process; two names
/// practically never share a bucket. Where more names come at once than the table holds, the
/// fullest of a few buckets makes room: a client that had used little gains a little, and one that
/// had used much stays held back.
package struct RateTable: Sendable {
  /// The number of buckets that are looked at for each new name.
  static let looksPerName = 8

  private struct Entry {
    var name: UInt64
    var bucket: TokenBucket
  }

  private let countMax: Int
  private var places: [UInt64: Int] = [:]
  private var entries: [Entry] = []
  private var hand = 0

  /// Makes an empty table of at most `countMax` buckets, which is at least 1.
  package init(countMax: Int) {
    precondition(countMax >= 1)
    self.countMax = countMax
  }

  /// The number of buckets.
  package var count: Int { entries.count }

  /// The time until there is a token for a name, in nanoseconds; 0 if there is one.
  package func waitNs(for name: UInt64, _ limit: RateLimit, at now: MonotonicTime) -> Int64 {
    places[name].map { entries[$0].bucket.waitNs(for: limit, at: now) } ?? 0
  }

  /// Takes a token for a name, if there is one.
  ///
  /// - Returns: 0 if there was one, else the time until there is one, in nanoseconds.
  package mutating func take(
    _ name: UInt64, _ limit: RateLimit, at now: MonotonicTime
  ) -> Int64 {
    if let place = places[name] { return entries[place].bucket.take(limit, at: now) }
    var bucket = TokenBucket()
    let wait = bucket.take(limit, at: now)
    makeRoom(at: now)
    places[name] = entries.count
    entries.append(Entry(name: name, bucket: bucket))
    return wait
  }

  /// Forgets full buckets among the next few, and one that is not full if there is no room
  /// otherwise.
  private mutating func makeRoom(at now: MonotonicTime) {
    var fullest: Int?
    for _ in 0..<min(Self.looksPerName, entries.count) where !entries.isEmpty {
      hand = hand < entries.count ? hand : 0
      if entries[hand].bucket.isFull(at: now) {
        // The last entry has moved to this place, and is looked at next.
        remove(at: hand)
        fullest = nil
      } else {
        if fullest.map({ entries[hand].bucket.isFuller(than: entries[$0].bucket) }) ?? true {
          fullest = hand
        }
        hand += 1
      }
    }
    guard entries.count >= countMax else { return }
    remove(at: fullest ?? 0)
  }

  private mutating func remove(at place: Int) {
    places[entries[place].name] = nil
    let last = entries.removeLast()
    guard place < entries.count else { return }
    entries[place] = last
    places[last.name] = place
  }
}
