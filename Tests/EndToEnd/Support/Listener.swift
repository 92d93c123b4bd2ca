import Foundation
import Glibc

/// One who listens to a relay's events, on a thread of its own.
final class Listener: Sendable {
  /// An event as it came over the wire.
  struct Event: Sendable, Equatable {
    /// What happened.
    var name: String
    /// What to give back to go on behind it; nil for events that move nothing on.
    var id: String?
    /// The JSON as it came.
    var data: String

    /// The JSON, taken apart.
    func json() throws -> [String: Any] {
      let value = try JSONSerialization.jsonObject(with: Data(data.utf8))
      guard let object = value as? [String: Any] else {
        throw ProtocolViolation(description: "no JSON object: \(data)")
      }
      return object
    }

    /// A text of the JSON.
    subscript(name: String) -> String? { (try? json())?[name] as? String }
  }

  private struct State {
    var events: [Event] = []
    var lastID: String?
    var signCount = 0
    var isOver = false
    /// Whether the stream came to its proper end, and was not cut.
    var isEnded = false
  }

  private let connection: Connection
  private let state = Monitor(State())

  /// Begins to listen; the relay has to take it.
  init(
    _ relay: Relay, _ query: String = "", lastID: String? = nil, token: String? = nil,
    connection: Connection? = nil
  ) async throws {
    let connection = try connection ?? Connection(port: relay.port)
    self.connection = connection
    var request = "GET /v1/events\(query) HTTP/1.1\r\nHost: relay\r\n"
    if let lastID { request += "Last-Event-ID: \(lastID)\r\n" }
    if let token { request += "Authorization: Bearer \(token)\r\n" }
    let bytes = Array((request + "\r\n").utf8)
    try await onThread {
      try connection.write(bytes)
      let head = try connection.read(through: "\r\n\r\n") ?? []
      let text = String(decoding: head, as: UTF8.self)
      guard text.hasPrefix("HTTP/1.1 200 "), text.contains("text/event-stream") else {
        throw ProtocolViolation(description: "no event stream: \(text)")
      }
    }
    let state = state
    Thread.detachNewThread { Self.listen(to: connection, state) }
  }

  deinit { connection.shutDown() }

  /// Goes away.
  func close() {
    // Not closed, since the thread that listens could read from whatever gets its number next.
    connection.shutDown()
  }

  private static func listen(to connection: Connection, _ state: Monitor<State>) {
    var text = ""
    do {
      while let line = try connection.read(through: "\r\n"),
        let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16), size > 0
      {
        text += String(decoding: try connection.read(count: size), as: UTF8.self)
        _ = try connection.read(count: 2)
        while let end = text.range(of: "\n\n") {
          let block = String(text[..<end.lowerBound])
          text = String(text[end.upperBound...])
          state.change { take(block, into: &$0) }
        }
      }
      state.change { $0.isEnded = true }
    } catch {
      // Cut off; what had come of an event that was not whole is dropped.
    }
    state.change { $0.isOver = true }
  }

  private static func take(_ block: String, into state: inout State) {
    var event = Event(name: "message", id: nil, data: "")
    for line in block.components(separatedBy: "\n") {
      let parts = line.components(separatedBy: ": ")
      let value = parts.dropFirst().joined(separator: ": ")
      switch parts[0] {
      case "event": event.name = value
      case "id": event.id = value
      case "data": event.data = value
      default: break
      }
    }
    if let id = event.id { state.lastID = id }
    if event.data.isEmpty { state.signCount += 1 } else { state.events.append(event) }
  }

  /// What has come so far.
  var events: [Event] { state.read(\.events) }

  /// What has come so far but for progress, snapshots and starts.
  var changes: [Event] {
    events.filter { !["progress", "snapshot", "started"].contains($0.name) }
  }

  /// Where to go on.
  var lastID: String? { state.read(\.lastID) }

  /// Whether the stream came to its proper end.
  var isEnded: Bool { state.read(\.isEnded) }

  /// Waits until what has come is enough, and returns all of it.
  @discardableResult
  func events(
    _ what: String, seconds: Double = 60, until isEnough: @escaping @Sendable ([Event]) -> Bool
  ) async throws -> [Event] {
    try await state.wait(what, seconds: seconds) { isEnough($0.events) ? $0.events : nil }
  }

  /// Waits for an event of this name, and returns the first.
  @discardableResult
  func first(_ name: String, seconds: Double = 20) async throws -> Event {
    let events = try await events("event \(name)", seconds: seconds) {
      $0.contains { $0.name == name }
    }
    return events.first { $0.name == name } ?? Event(name: name, id: nil, data: "")
  }

  /// Waits for so many signs of life.
  func signs(count: Int) async throws {
    _ = try await state.wait("\(count) signs of life") { $0.signCount >= count ? true : nil }
  }

  /// Waits until it is over.
  func over(seconds: Double = 20) async throws {
    _ = try await state.wait("end of the stream", seconds: seconds) { $0.isOver ? true : nil }
  }
}
