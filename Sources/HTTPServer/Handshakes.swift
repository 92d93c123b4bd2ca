import EventLoop
import RelayCore
import Synchronization

/// The TLS handshakes that are under way, limited in number and per source.
///
/// Beyond the limit the oldest one is cut off, rather than the new one refused. A device's
/// handshake takes a few round trips, and so completes while a thousand silent connections wait for
/// their timeout. A source that has used up its share loses its own oldest.
final class Handshakes: Sendable {
  private struct Entry {
    let connection: ServerConnection
    let source: PlaceSource?
  }

  private struct State {
    var underWay: [UInt64: Entry] = [:]
    /// A lower bound of the numbers of all handshakes under way.
    var oldest: UInt64 = 0
    var next: UInt64 = 0
    var lines: [PlaceSource: Line] = [:]

    /// Removes a handshake.
    mutating func remove(_ number: UInt64) -> ServerConnection? {
      guard let entry = underWay.removeValue(forKey: number) else { return nil }
      guard let source = entry.source, var line = lines.removeValue(forKey: source) else {
        return entry.connection
      }
      line.count -= 1
      if line.count > 0 {
        while let first = line.numbers.first, underWay[first] == nil { _ = line.numbers.popFirst() }
        lines[source] = line
      }
      return entry.connection
    }
  }

  /// The handshakes of one source that are under way.
  private struct Line {
    var count = 0
    /// Their numbers, in the order in which they began.
    ///
    /// Finished ones may still be among them: at most as many as began within one handshake's time.
    var numbers = RelayCore.Deque<UInt64>()
  }

  private let limits: Mutex<PlaceLimits>
  private let state = Mutex(State())

  init(_ limits: PlaceLimits) { self.limits = Mutex(limits) }

  /// Changes the limits.
  func setLimits(_ limits: PlaceLimits) { self.limits.withLock { $0 = limits } }

  /// Notes that a handshake begins; may cut off the oldest one.
  ///
  /// - Returns: Its number, for ``end(_:)``.
  func begin(_ connection: ServerConnection, from source: PlaceSource?) -> UInt64 {
    let limits = limits.withLock { $0 }
    let (number, tooOld) = state.withLock { state -> (UInt64, ServerConnection?) in
      let number = state.next
      state.next += 1
      state.underWay[number] = Entry(connection: connection, source: source)
      if let source {
        state.lines[source, default: Line()].count += 1
        state.lines[source]?.numbers.append(number)
        if let line = state.lines[source], line.count > limits.perSource,
          let first = line.numbers.first
        {
          return (number, state.remove(first))
        }
      }
      guard state.underWay.count > limits.total else { return (number, nil) }
      while state.underWay[state.oldest] == nil { state.oldest += 1 }
      return (number, state.remove(state.oldest))
    }
    tooOld?.abort()
    return number
  }

  /// Notes that a handshake is complete or has failed.
  func end(_ number: UInt64) {
    _ = state.withLock { $0.remove(number) }
  }
}

/// A failed handshake, to be reported to an operator.
package struct FailedHandshake: Sendable {
  /// The listener's number.
  package let listener: Int
  /// The other end of the connection.
  package let peer: String
  /// The reason, as a part of a sentence.
  package let reason: String
}
