/// The rules of retention: what is forgotten once it was kept long enough.
package enum RetentionRules {
  /// Whether an ended envelope was kept long enough.
  ///
  /// One that an envelope which waits may still refer to is kept; that is looked up apart.
  package static func isDue(
    _ state: EnvelopeState, endedAt: WallTime, _ cutoffs: RetentionCutoffs
  ) -> Bool {
    endedAt < (state == .delivered ? cutoffs.delivered : cutoffs.failed)
  }

  /// Whether the keys of an envelope that is deleted are remembered.
  ///
  /// They keep a repeat from being delivered twice. What was not delivered may come again.
  package static func remembersKeys(
    _ state: EnvelopeState, endedAt: WallTime, _ cutoffs: RetentionCutoffs
  ) -> Bool {
    state == .delivered && endedAt >= cutoffs.keys
  }

  /// Whether the sequence number of a deleted envelope is forgotten with it.
  ///
  /// The number of one that ended while it was parked goes on saying that it came, until the lane
  /// has come so far.
  ///
  /// - Parameter placed: The number up to which everything stands in line; nil if nothing is
  ///   parked.
  package static func forgetsNumber(_ number: Int64, placedThrough placed: Int64?) -> Bool {
    placed.map { number <= $0 } ?? true
  }
}
