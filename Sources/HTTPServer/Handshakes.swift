import Synchronization

/// The handshakes that are under way: so many at most.
///
/// Past the limit the one that has taken longest is cut off, rather than the new one refused: a
/// device's handshake takes a few round trips, and so gets through while a thousand silent
/// connections wait for their time to be up.
final class Handshakes: Sendable {
  private struct State {
    var underWay: [UInt64: Connection] = [:]
    /// No handshake under way has a smaller number.
    var oldest: UInt64 = 0
    var next: UInt64 = 0
  }

  private let countMax: Atomic<Int>
  private let state = Mutex(State())

  init(countMax: Int) { self.countMax = Atomic(countMax) }

  /// Allows so many from now on.
  func hold(to countMax: Int) { self.countMax.store(countMax, ordering: .relaxed) }

  /// A handshake begins.
  ///
  /// - Returns: Its number, for ``end(_:)``.
  func begin(_ connection: Connection) -> UInt64 {
    let (number, tooOld) = state.withLock { state in
      let number = state.next
      state.next += 1
      state.underWay[number] = connection
      guard state.underWay.count > countMax.load(ordering: .relaxed) else {
        return (number, nil as Connection?)
      }
      while state.underWay[state.oldest] == nil { state.oldest += 1 }
      return (number, state.underWay.removeValue(forKey: state.oldest))
    }
    tooOld?.abort()
    return number
  }

  /// A handshake is complete, or has failed.
  func end(_ number: UInt64) {
    _ = state.withLock { $0.underWay.removeValue(forKey: number) }
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
