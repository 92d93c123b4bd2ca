import EventLoop
import RelayCore
import Synchronization

/// The handshakes that are under way: so many at most, and so many from one source.
///
/// Past the limit the one that has taken longest is cut off, rather than the new one refused: a
/// device's handshake takes a few round trips, and so gets through while a thousand silent
/// connections wait for their time to be up. A source that has its share under way loses its own.
final class Handshakes: Sendable {
  private struct Entry {
    let connection: Connection
    let source: PlaceSource?
  }

  private struct State {
    var underWay: [UInt64: Entry] = [:]
    /// No handshake under way has a smaller number.
    var oldest: UInt64 = 0
    var next: UInt64 = 0
    var lines: [PlaceSource: Line] = [:]

    /// Takes one out.
    mutating func remove(_ number: UInt64) -> Connection? {
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

  /// What a source has under way.
  private struct Line {
    var count = 0
    /// In the order in which they began; those that are over may still stand among them, as many at
    /// the most as began within one handshake's time.
    var numbers = RelayCore.Deque<UInt64>()
  }

  private let limits: Mutex<PlaceLimits>
  private let state = Mutex(State())

  init(_ limits: PlaceLimits) { self.limits = Mutex(limits) }

  /// Allows so many from now on.
  func hold(to limits: PlaceLimits) { self.limits.withLock { $0 = limits } }

  /// A handshake begins.
  ///
  /// - Returns: Its number, for ``end(_:)``.
  func begin(_ connection: Connection, from source: PlaceSource?) -> UInt64 {
    let limits = limits.withLock { $0 }
    let (number, tooOld) = state.withLock { state -> (UInt64, Connection?) in
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

  /// A handshake is complete, or has failed.
  func end(_ number: UInt64) {
    _ = state.withLock { $0.remove(number) }
  }
}

/// A handshake that failed, to be told to an operator.
package struct FailedHandshake: Sendable {
  /// The listener's number.
  package let listener: Int
  /// The other end of the connection.
  package let peer: String
  /// Why it failed, as a part of a sentence.
  package let reason: String
}
