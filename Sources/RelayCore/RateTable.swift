/// The buckets of many clients, in bounded memory.
///
/// A bucket that is full again says nothing, and is forgotten: so the table holds those that came
/// lately, however many names there are. Names are known by a 64-bit hash alone, whose seed is the
/// process's own; that two of them share a bucket is as good as impossible. Where more names come
/// at once than the table holds, the fullest of a few buckets makes room: who had used up little
/// gains a little, and who had used up much goes on being held back.
package struct RateTable: Sendable {
  /// How many buckets are looked at for each name that is new.
  static let looksPerName = 8

  private struct Entry {
    var name: UInt64
    var bucket: TokenBucket
  }

  private let countMax: Int
  private var places: [UInt64: Int] = [:]
  private var entries: [Entry] = []
  private var hand = 0

  /// An empty table, of so many buckets at the most; at least 1.
  package init(countMax: Int) {
    precondition(countMax >= 1)
    self.countMax = countMax
  }

  /// How many buckets there are.
  package var count: Int { entries.count }

  /// Looks how long it is until there is a token for a name, in nanoseconds; 0 if there is one.
  package func waitNs(for name: UInt64, _ limit: RateLimit, at now: MonotonicTime) -> Int64 {
    places[name].map { entries[$0].bucket.waitNs(for: limit, at: now) } ?? 0
  }

  /// Takes a token for a name, if there is one.
  ///
  /// - Returns: 0 if there was, else how long until there is one, in nanoseconds.
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

  /// Forgets full buckets among the next few, and one that is not if there is no room otherwise.
  private mutating func makeRoom(at now: MonotonicTime) {
    var fullest: Int?
    for _ in 0..<min(Self.looksPerName, entries.count) where !entries.isEmpty {
      hand = hand < entries.count ? hand : 0
      if entries[hand].bucket.isFull(at: now) {
        // What was last stands here now, and is looked at next.
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
