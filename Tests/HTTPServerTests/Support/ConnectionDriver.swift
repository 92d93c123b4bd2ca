import RelayCore

@testable import HTTPServer

/// Drives a connection's state with bytes and a clock of the test's own; no sockets.
struct ConnectionDriver {
  var state: ConnectionState
  var now = MonotonicTime(nanoseconds: 1_000_000_000_000)

  init(_ limits: HTTPLimits = HTTPLimits()) {
    state = ConnectionState(limits: limits, now: now)
    state.input.attach([UInt8](repeating: 0, count: limits.readBufferBytes))
  }

  mutating func receive(_ text: String) { receive(Array(text.utf8)[...]) }

  mutating func receive(_ bytes: ArraySlice<UInt8>) {
    var bytes = bytes
    while !bytes.isEmpty {
      let count = state.input.fill { (room: UnsafeMutableRawBufferPointer) -> Int? in
        let count = min(room.count, bytes.count)
        room.copyBytes(from: bytes.prefix(count))
        return count
      }
      bytes = bytes.dropFirst(count ?? 0)
      state.received(count ?? 0, now: now)
    }
  }

  mutating func pass(_ milliseconds: Int64) { now = now.adding(milliseconds: milliseconds) }

  /// The next action in words: easier to compare than an enumeration with a head in it.
  mutating func head() -> String {
    switch state.nextHead(now: now) {
    case .read(let deadline): "read \(deadline.milliseconds(since: now))"
    case .respond(let head): "respond \(String(decoding: head.target, as: UTF8.self))"
    case .refuse(let problem): "refuse \(problem.status)"
    case .close: "close"
    }
  }

  mutating func body() -> String { describe(state.nextBody(now: now)) }
  mutating func skip() -> String { describe(state.nextSkip(now: now)) }

  private func describe(_ action: ConnectionState.BodyAction) -> String {
    switch action {
    case .read(let deadline): "read \(deadline.milliseconds(since: now))"
    case .sendContinue: "continue"
    case .piece(let bytes): "piece \(String(decoding: bytes, as: UTF8.self))"
    case .end: "end"
    case .failed(let error): "failed \(error)"
    }
  }

  mutating func answer(
    _ status: Int = 200, length: Int64? = 0, closes: Bool = false
  ) -> ConnectionState.ResponsePlan {
    state.beginResponse(status: status, length: length, closes: closes)
  }

  mutating func end() -> ConnectionState.AfterResponse { state.endResponse(now: now) }
}
