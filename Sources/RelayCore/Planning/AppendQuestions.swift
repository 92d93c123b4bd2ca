/// What a batch of posts may ask of a store, so that it can be read ahead by few queries.
///
/// Like ``GatheredFacts`` it is for a store over a network.
///
/// Everything is asked by name, so one round trip is enough: none of the answers is needed to put
/// another question. Sets have no order; whoever sends them sorts them, or does not care.
package struct AppendQuestions: Equatable, Sendable {
  /// A client's key.
  package struct Key: Hashable, Sendable {
    /// The client's name.
    package var client: String
    /// The key.
    package var key: String

    /// Names a key.
    package init(client: String, key: String) {
      self.client = client
      self.key = key
    }
  }

  /// A name to coalesce by.
  package struct Name: Hashable, Sendable {
    /// The lane.
    package var lane: LaneName
    /// The name.
    package var name: String

    /// Names a name.
    package init(lane: LaneName, name: String) {
      self.lane = lane
      self.name = name
    }
  }

  /// The lanes; with each its client, and how many lanes that has.
  package private(set) var lanes: Set<LaneName> = []
  /// The upstreams.
  package private(set) var upstreams: Set<String> = []
  /// The keys, each with the post that it stands for.
  package private(set) var keys: Set<Key> = []
  /// The sequence numbers by lane: who holds them, the gaps that they lie in, and, by
  /// ``openGapCount(in:)``, the lowest gaps of the lane.
  package private(set) var numbers: [LaneName: Set<Int64>] = [:]
  /// The names to coalesce by, each with the last envelope that was posted under it.
  package private(set) var names: Set<Name> = []

  /// The questions of some posts.
  package init(of drafts: some Sequence<EnvelopeDraft>) {
    for draft in drafts {
      let lane = LaneName(client: draft.client, lane: draft.lane)
      lanes.insert(lane)
      if !draft.isVoid { upstreams.insert(draft.upstream) }
      if let key = draft.key { keys.insert(Key(client: draft.client, key: key)) }
      if let number = draft.sequence { numbers[lane, default: []].insert(number) }
      if let name = draft.coalesce { names.insert(Name(lane: lane, name: name)) }
    }
  }

  /// How many of the lowest gaps of a lane that nobody has given up are to be read.
  ///
  /// Each number of the batch closes one at the most, and the one behind them is the answer to a
  /// number that comes too late.
  package func openGapCount(in lane: LaneName) -> Int {
    numbers[lane].map { $0.count + 1 } ?? 0
  }
}
