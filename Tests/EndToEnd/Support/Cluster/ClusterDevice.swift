#if PostgreSQL
import Foundation

/// A device that posts by whichever relay it is sent to, repeats what was not answered, and changes
/// its mind about some.
struct ClusterDevice: Sendable {
  private struct Held {
    let place: ClusterLedger.Place
    let number: Int
    let id: String
  }

  let name: String
  private let cluster: RelayCluster
  private let ledger: ClusterLedger
  private var generator: SeededGenerator
  private var lastNumbers: [ClusterLedger.Lane: Int] = [:]
  private var held: [Held] = []
  private var ids: Set<String> = []

  init(_ number: Int, _ cluster: RelayCluster, _ ledger: ClusterLedger, seed: UInt64) {
    name = "device-\(number)"
    self.cluster = cluster
    self.ledger = ledger
    generator = SeededGenerator(seed: seed)
  }

  /// Posts until it is told to end, and lets go of what it holds; itself, as it is then.
  consuming func run(until isOver: Monitor<Bool>) async throws -> ClusterDevice {
    while !isOver.read({ $0 }) {
      try await act()
      try await cluster.rest(milliseconds: Int.random(in: 0..<10, using: &generator))
    }
    while !held.isEmpty { try await decide() }
    return self
  }

  private mutating func act() async throws {
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<7: try await post(.log, ["sequence": next(.log)])
    case 7: try await postAhead()
    case 8: try await postBatch()
    case 9..<12: try await post(.work)
    case 12: try await postToHold()
    case 13: try await postAndCancel()
    case 14: if !held.isEmpty { try await decide() }
    default: try await post(.state, ["coalesce": "position"])
    }
  }

  // MARK: - Posts

  private mutating func next(_ lane: ClusterLedger.Lane) -> Int {
    lastNumbers[lane, default: 0] += 1
    return lastNumbers[lane, default: 0]
  }

  private func place(_ lane: ClusterLedger.Lane) -> ClusterLedger.Place {
    ClusterLedger.Place(device: name, lane: lane)
  }

  private func envelope(
    _ lane: ClusterLedger.Lane, _ number: Int, _ more: [String: any Sendable]
  ) -> [String: any Sendable] {
    [
      "client": name, "lane": lane.rawValue, "key": "\(lane)-\(number)",
      "path": ClusterLedger.path(place(lane), number),
      "body": ClusterLedger.body(place(lane), number),
    ].merging(more) { _, given in given }
  }

  /// Posts one until it is acknowledged, and some of them once more; its number and id.
  @discardableResult
  private mutating func post(
    _ lane: ClusterLedger.Lane, _ more: [String: any Sendable] = [:]
  ) async throws -> (number: Int, id: String) {
    let number = more["sequence"] as? Int ?? next(lane)
    let body = try Device.json(envelope(lane, number, more))
    let id = try await post(body)
    ledger.acknowledge(place(lane), number)
    if generator.happens(0.05) {
      let again = try await post(body)
      guard again == id else {
        throw ProtocolViolation(description: "\(body) got the ids \(id) and \(again)")
      }
    }
    ids.insert(id)
    return (number, id)
  }

  private mutating func post(_ body: [UInt8]) async throws -> String {
    let answer = try await insist("POST", "/v1/envelopes", body)
    guard answer.status == 202, let id = try answer.json()["id"] as? String else {
      throw ProtocolViolation(description: "an envelope of \(name) was not taken: \(answer)")
    }
    return id
  }

  /// Posts a number before the one below it.
  private mutating func postAhead() async throws {
    let (below, ahead) = (next(.log), next(.log))
    for number in [ahead, below] { try await post(.log, ["sequence": number]) }
  }

  /// Posts three at once.
  private mutating func postBatch() async throws {
    let numbers = (0..<3).map { _ in next(.log) }
    let batch = numbers.map { envelope(.log, $0, ["sequence": $0]) }
    let answer = try await insist("POST", "/v1/envelopes", Device.json(batch))
    let results = (try? answer.json()["results"] as? [[String: Any]]) ?? []
    let taken = results.compactMap { $0["id"] as? String }
    guard taken.count == numbers.count else {
      throw ProtocolViolation(description: "a batch of \(name) was not taken: \(answer)")
    }
    ids.formUnion(taken)
    for number in numbers { ledger.acknowledge(place(.log), number) }
  }

  // MARK: - Changes of mind

  private mutating func postToHold() async throws {
    let (number, id) = try await post(.work, ["hold": true])
    held.append(Held(place: place(.work), number: number, id: id))
  }

  /// Runs or cancels the one that it has held for longest.
  private mutating func decide() async throws {
    let first = held.removeFirst()
    if generator.happens(0.5) { return try await cancel(first, wasHeld: true) }
    while true {
      let answer = try await insist("POST", "/v1/envelopes/\(first.id)/run")
      if answer.status == 200 { return }
      switch answer.problem {
      // It was run before, and that answer was lost.
      case "already-ended": return
      // Those before it have not arrived yet.
      case "behind": try await cluster.rest(milliseconds: 20)
      default: throw ProtocolViolation(description: "\(first) was not run: \(answer)")
      }
    }
  }

  private mutating func postAndCancel() async throws {
    let (number, id) = try await post(.work)
    try await cancel(Held(place: place(.work), number: number, id: id), wasHeld: false)
  }

  /// Takes one back, unless it arrives first.
  ///
  /// While it is being delivered the question stands: an answer that was lost may have been one to
  /// a request that is carried out only later.
  private mutating func cancel(_ posted: Held, wasHeld: Bool) async throws {
    while true {
      let answer = try await insist("DELETE", "/v1/envelopes/\(posted.id)")
      if answer.status == 200, try answer.json()["state"] as? String == "cancelled" {
        return ledger.cancel(posted.place, posted.number, wasHeld: wasHeld)
      }
      switch answer.problem {
      case "delivering" where !wasHeld: try await cluster.rest(milliseconds: 20)
      case "already-ended" where !wasHeld: return
      default: throw ProtocolViolation(description: "\(posted) was not cancelled: \(answer)")
      }
    }
  }

  // MARK: - Asking

  /// Asks one relay after the other until one answers.
  ///
  /// Some answers are not read, as if they had been lost.
  private mutating func insist(
    _ method: String, _ target: String, _ body: [UInt8] = []
  ) async throws -> WireResponse {
    let head = """
      \(method) \(target) HTTP/1.1\r
      Host: relay\r
      Content-Type: application/json\r
      Content-Length: \(body.count)\r
      \r\n
      """
    let limit = Date(timeIntervalSinceNow: 90)
    var last = "nothing"
    while Date() < limit {
      let port = try await cluster.anyPort(using: &generator)
      let isRead = !generator.happens(0.03)
      do {
        let answer = try await Self.exchange(Array(head.utf8) + body, port, method, isRead: isRead)
        if let answer, answer.status != 503 { return answer }
        last = answer?.description ?? last
      } catch {
        last = "\(error)"
      }
      try await cluster.rest(milliseconds: Int.random(in: 10..<100, using: &generator))
    }
    throw TimeLimitExceeded(description: "\(method) \(target) of \(name): at last \(last)")
  }

  private static func exchange(
    _ bytes: [UInt8], _ port: UInt16, _ method: String, isRead: Bool
  ) async throws -> WireResponse? {
    try await onThread {
      let connection = try Connection(port: port)
      defer { connection.close() }
      try connection.write(bytes)
      guard isRead else { return nil }
      return try connection.readResponse(to: method)
    }
  }

  // MARK: - The end

  /// What the relays say of its envelopes, and should not, once all have arrived.
  mutating func differences() async throws -> [String] {
    let cancelled = ledger.cancelledCount(of: name)
    let wanted = ["cancelled": cancelled, "delivered": ids.count - cancelled]
    var found: [String: Int] = [:]
    // What has arrived is on record a little later.
    for _ in 0..<100 {
      let client = try await insist("GET", "/v1/clients/\(name)").json()
      found = (client["states"] as? [String: Int] ?? [:]).filter { $0.value > 0 }
      if found == wanted.filter({ $0.value > 0 }) { return [] }
      try await cluster.rest(milliseconds: 50)
    }
    return ["\(name) has \(found), and should have \(wanted)"]
  }
}
#endif
