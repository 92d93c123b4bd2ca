/// Lanes that wait for a slot of one upstream: clients take turns, and so do a client's lanes.
///
/// So a client with a thousand lanes gets no more turns than one with a single lane, and the length
/// of a lane does not matter at all.
package struct FairQueue: Sendable {
  /// One client's lanes; most clients have one, for which nothing is allocated.
  private struct ClientLanes: Sendable {
    var first: LaneNumber
    var others = Deque<LaneNumber>()
  }

  private var turns = Deque<ClientNumber>()
  private var lanes = NumberTable<ClientNumber, ClientLanes>()
  /// A lane stands here at most once, so that one whose heads expire while it waits, again and
  /// again, neither gets more turns than others nor makes the queue grow.
  private var members: NumberSet<LaneNumber> = []

  /// How many lanes wait.
  package var count: Int { members.count }

  /// An empty queue.
  package init() {}

  /// Puts a lane behind the client's other lanes, and the client in turn if it had none waiting.
  ///
  /// A lane that waits already keeps its place.
  package mutating func append(_ lane: LaneNumber, of client: ClientNumber) {
    guard members.insert(lane).inserted else { return }
    if lanes[client]?.others.append(lane) == nil {
      lanes[client] = ClientLanes(first: lane)
      turns.append(client)
    }
  }

  /// Puts a lane before all others, to be taken next.
  ///
  /// If other lanes of its client wait, it goes before those, and the client's turn stays what it
  /// is. A lane that waits already keeps its place.
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

  /// Takes the lane whose turn it is.
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
