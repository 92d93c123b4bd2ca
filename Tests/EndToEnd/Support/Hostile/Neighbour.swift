import Foundation

/// A healthy client beside a hostile one: it posts and asks all the while, on a connection of its
/// own, and has to be served each time.
final class Neighbour: Sendable {
  /// What it saw.
  struct Served: Sendable {
    /// How many envelopes were taken.
    var count = 0
    var faults: [String] = []
  }

  private let hasToStop = Monitor(false)
  private let result: Task<Served, any Error>

  /// Begins.
  init(_ relay: Relay) throws {
    let device = relay.device("neighbour")
    let hasToStop = hasToStop
    result = Task {
      var served = Served()
      repeat {
        do {
          let answer = try await device.post(["path": "/beside"])
          guard answer.status == 202, let id = try answer.json()["id"] as? String else {
            served.faults.append("\(answer)")
            continue
          }
          served.count += 1
          let found = try await device.get("/v1/envelopes/\(id)")
          if found.status != 200 { served.faults.append("\(found)") }
        } catch {
          served.faults.append("\(error)")
        }
      } while !hasToStop.read { $0 } && served.faults.count < 10
      return served
    }
  }

  /// Stops, and tells how it was served.
  func end() async throws -> Served {
    hasToStop.change { $0 = true }
    return try await result.value
  }
}
