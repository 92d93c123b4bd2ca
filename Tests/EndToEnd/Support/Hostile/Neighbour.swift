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

/// What a process has in memory, as the kernel counts it.
enum Memory {
  /// The most that was resident at any time since the process began, in MiB.
  static func peakMiB(of process: pid_t) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
      if let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) {
        return (kilobytes + 1023) / 1024
      }
    }
    throw ProtocolViolation(description: "/proc/\(process)/status has no VmHWM")
  }
}
