import Foundation
import Testing

extension EndToEnd {
  @Suite("The order in which operations act", .serialized)
  struct OperationOrder {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream { _ in .answer(422) }
      relay = try await Relay.started(
        upstream, more: ["lanes": ["live-*": ["order": "latest"] as [String: any Sendable]]])
    }

    private var device: Device { relay.device() }

    private func lane(_ target: String) -> String {
      String(target.split(separator: "/").first ?? "")
    }

    private func number(_ target: String) -> Int {
      target.split(separator: "/").last.flatMap { Int($0) } ?? -1
    }

    /// Posts so many, by turns to each of the lanes.
    private func post(
      _ count: Int, lanes: [String], _ more: [String: any Sendable] = [:]
    ) async throws {
      for start in stride(from: 0, to: count, by: 100) {
        let batch = (start..<min(count, start + 100)).map { number in
          let lane = lanes[number % lanes.count]
          return more.merging(["path": "/\(lane)/\(number)", "lane": lane]) { given, _ in given }
        }
        #expect(try await device.post(batch: batch).status == 202)
      }
    }

    private func count(_ state: String) async throws -> Int {
      let store = try await device.get("/status").json()["store"] as? [String: Any]
      return (store?["envelopes"] as? [String: Int])?[state] ?? 0
    }

    /// Carries an operation out, and returns how it ended.
    private func operate(_ action: String, _ filter: [String: String]) async throws -> [String: Any]
    {
      let begun = try await device.request(
        "POST", "/v1/operations", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": action, "filter": filter] as [String: any Sendable]))
      #expect(begun.status == 202, "\(begun)")
      let place = try #require(begun["Location"])
      return try await eventually("the operation has ended") {
        let shown = try await device.get(place).json()
        return shown["state"] as? String == "running" ? nil : shown
      }
    }

    @Test("what is requeued is sent in each lane's own order")
    func requeue() async throws {
      let lanes = ["a", "b", "c", "live-1"]
      try await post(1200, lanes: lanes)
      try await eventually("all have failed") { try await count("failed") == 1200 ? true : nil }
      let refused = upstream.received.count
      upstream.behave { _ in .answer(200) }
      let end = try await operate("requeue", ["state": "failed"])
      #expect(end["done"] as? Int == 1200 && end["failed"] as? Int == 0, "\(end)")
      let sent = try await upstream.received(count: refused + 1200).dropFirst(refused)
      let targets = Dictionary(grouping: sent.map(\.target), by: lane)
      for name in lanes {
        let numbers = targets[name]?.map(number) ?? []
        let sorted = numbers.sorted { name == "live-1" ? $0 > $1 : $0 < $1 }
        #expect(numbers.count == 300 && numbers == sorted, "\(name): \(numbers)")
      }
    }

    @Test("nothing of a blocked lane is sent that is cancelled with what blocks it")
    func cancel() async throws {
      for lane in ["a", "live-1"] {
        let earlier = upstream.received.count
        try await post(1, lanes: [lane], ["onFailure": "block"])
        try await eventually("the lane is blocked") {
          try await count("blocked") == 1 ? true : nil
        }
        try await post(100, lanes: [lane])
        let end = try await operate("cancel", ["lane": lane])
        #expect(end["done"] as? Int == 101 && end["failed"] as? Int == 0, "\(end)")
        #expect(upstream.received.count == earlier + 1)
      }
      #expect(try await count("cancelled") == 202)
    }
  }
}
