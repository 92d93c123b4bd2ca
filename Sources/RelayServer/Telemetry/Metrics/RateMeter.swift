import RelayCore
import Synchronization

/// Counts what happens, second by second, for the rates on `/status`.
package final class RateMeter: Sendable {
  /// The kinds of events counted.
  package enum Kind: Int, CaseIterable, Sendable {
    /// Envelopes accepted.
    case accepted
    /// Envelopes delivered.
    case delivered
    /// Envelopes that ended as `failed`.
    case failed
    /// Attempts that ended, one for each envelope in a request, as they were recorded.
    case attempts
    /// Posts refused for overload.
    case shed
  }

  /// The time over which rates are taken, in seconds.
  package static let windowSeconds = 60

  private struct Buckets {
    var counts = [Int](repeating: 0, count: Kind.allCases.count * RateMeter.windowSeconds)
    var second: Int64 = 0

    /// Empties the buckets of the seconds in which nothing was counted.
    mutating func advance(to second: Int64) {
      guard second > self.second else { return }
      let window = Int64(RateMeter.windowSeconds)
      for passed in max(self.second + 1, second - window + 1)...second {
        for kind in Kind.allCases { counts[Self.index(kind, passed)] = 0 }
      }
      self.second = second
    }

    static func index(_ kind: Kind, _ second: Int64) -> Int {
      kind.rawValue * RateMeter.windowSeconds + Int(second % Int64(RateMeter.windowSeconds))
    }
  }

  private let buckets = Mutex(Buckets())

  /// Begins with nothing counted.
  package init() {}

  /// Counts something.
  package func count(_ kind: Kind, _ count: Int = 1, at now: MonotonicTime) {
    guard count > 0 else { return }
    let second = now.nanoseconds / 1_000_000_000
    buckets.withLock { buckets in
      buckets.advance(to: second)
      buckets.counts[Buckets.index(kind, second)] += count
    }
  }

  /// The average over the window, per second.
  package func perSecond(_ kind: Kind, at now: MonotonicTime) -> Double {
    let second = now.nanoseconds / 1_000_000_000
    let total = buckets.withLock { buckets in
      buckets.advance(to: second)
      let start = kind.rawValue * Self.windowSeconds
      return buckets.counts[start..<(start + Self.windowSeconds)].reduce(0, +)
    }
    return Double(total) / Double(Self.windowSeconds)
  }
}

extension RateMeter: CommitListener {
  /// Counts posts that were taken, attempts and ends.
  ///
  /// An attempt counts also where nothing came of it, as in ``DeliveryFigures``.
  package func committed(_ commit: Commit, at now: Now) {
    var attempts = 0
    var delivered = 0
    var failed = 0
    for change in commit.changes {
      switch change {
      case .changed(let transitions):
        attempts += transitions.count { $0.attempt != nil }
        for transition in transitions where !transition.isMoot {
          switch transition.change {
          case .end(.delivered, _): delivered += 1
          case .end(.failed, _): failed += 1
          case .end, .begin, .retry, .block, .release, .edit, .requeue: break
          }
        }
      case .accepted, .coalesced, .unwritten, .endsChanged, .cleared: break
      }
    }
    count(.accepted, commit.postCount, at: now.monotonic)
    count(.attempts, attempts, at: now.monotonic)
    count(.delivered, delivered, at: now.monotonic)
    count(.failed, failed, at: now.monotonic)
  }
}
