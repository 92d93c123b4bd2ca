/// Lanes that wait for a slot of one upstream: clients take turns, and within a client its lanes do.
///
/// So a client with a thousand lanes gets no more turns than one with a single lane, and the length
/// of a lane does not matter at all.
package struct FairQueue: Sendable {
  private var turns = Deque<ClientNumber>()
  private var lanes: [ClientNumber: Deque<LaneNumber>] = [:]
  /// How many lanes wait.
  package private(set) var count = 0

  /// An empty queue.
  package init() {}

  /// Puts a lane behind the client's other lanes, and the client in turn if it had none waiting.
  package mutating func append(_ lane: LaneNumber, of client: ClientNumber) {
    count += 1
    guard lanes[client] == nil else {
      lanes[client]?.append(lane)
      return
    }
    var queue = Deque<LaneNumber>()
    queue.append(lane)
    lanes[client] = queue
    turns.append(client)
  }

  /// Puts a lane before all others, to be taken next.
  package mutating func prepend(_ lane: LaneNumber, of client: ClientNumber) {
    guard lanes[client] == nil else {
      // Its client's turn comes in order; within the client it is next.
      count += 1
      lanes[client]?.prepend(lane)
      return
    }
    append(lane, of: client)
    if let last = turns.popLast() { turns.prepend(last) }
  }

  /// Takes the lane whose turn it is.
  package mutating func popFirst() -> LaneNumber? {
    guard let client = turns.popFirst(), let lane = lanes[client]?.popFirst() else { return nil }
    count -= 1
    if lanes[client]?.isEmpty ?? true {
      lanes[client] = nil
    } else {
      turns.append(client)
    }
    return lane
  }
}
