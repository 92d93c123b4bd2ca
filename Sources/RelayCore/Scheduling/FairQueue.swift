/// The lanes that wait for a slot of one upstream: clients take turns, and so do a client's lanes.
///
/// So a client with a thousand lanes gets no more turns than a client with one, and the length of a
/// lane does not matter.
package struct FairQueue: Sendable {
  /// One client's lanes.
  ///
  /// Most clients have one, which needs no allocation.
  private struct ClientLanes: Sendable {
    var first: LaneNumber
    var others = Deque<LaneNumber>()
  }

  private var turns = Deque<ClientNumber>()
  private var lanes = NumberTable<ClientNumber, ClientLanes>()
  /// The lanes in the queue, each at most once.
  ///
  /// So a lane whose heads expire again and again while it waits neither gets more turns nor makes
  /// the queue grow.
  private var members: NumberSet<LaneNumber> = []

  /// The number of waiting lanes.
  package var count: Int { members.count }

  /// An empty queue.
  package init() {}

  /// Adds a lane behind the client's other lanes, and the client at the end if none of its lanes
  /// was waiting.
  ///
  /// A lane that is in the queue already keeps its place.
  package mutating func append(_ lane: LaneNumber, of client: ClientNumber) {
    guard members.insert(lane).inserted else { return }
    if lanes[client]?.others.append(lane) == nil {
      lanes[client] = ClientLanes(first: lane)
      turns.append(client)
    }
  }

  /// Adds a lane to be taken next.
  ///
  /// If other lanes of its client wait, it goes before those, and the client's turn stays as it is.
  /// A lane that is in the queue already keeps its place.
  package mutating func prepend(_ lane: LaneNumber, of client: ClientNumber) {
    guard members.insert(lane).inserted else { return }
    if let next = lanes[client]?.first {
      lanes[client]?.others.prepend(next)
      lanes[client]?.first = lane
    } else {
      lanes[client] = ClientLanes(first: lane)
      turns.prepend(client)
    }
  }

  /// Removes and returns the lane whose turn it is.
  package mutating func popFirst() -> LaneNumber? {
    guard let client = turns.popFirst(), let lane = lanes[client]?.first else { return nil }
    members.remove(lane)
    if let next = lanes[client]?.others.popFirst() {
      lanes[client]?.first = next
      turns.append(client)
    } else {
      lanes[client] = nil
    }
    return lane
  }
}
