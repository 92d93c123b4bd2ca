/// Tells trouble from damage by which reads of the disk fail, and for how long.
///
/// A disk that does not answer for a moment has lost nothing. A few places that stay unreadable are
/// damage. Many such places mean that the disk is away, and may come back.
struct ReadFaults {
  /// A place on a disk, as a read names it.
  struct Place: Hashable {
    var device: UInt64
    var file: UInt64
    /// The offset in the file, in bytes.
    var offset: Int64
  }

  /// The time for which a place must stay unreadable to count as damaged, in milliseconds.
  static let patienceMs: Int64 = 30_000
  /// The time without failures after which a place is forgotten, in milliseconds.
  static let memoryMs: Int64 = 60_000
  /// The most damaged places at once; if more fail, the disk is away.
  static let damagedPlacesMax = 16
  /// The most places that are remembered.
  static let placesMax = 64

  private struct Fault {
    var firstAtMs: Int64
    var lastAtMs: Int64
  }

  private var faults: [Place: Fault] = [:]

  /// Whether no place is remembered.
  var isEmpty: Bool { faults.isEmpty }

  /// Notes that a place could not be read.
  ///
  /// - Parameter nowMs: The time by a clock that only goes forward.
  /// - Returns: Whether the place is damaged.
  mutating func readFailed(at place: Place, nowMs: Int64) -> Bool {
    faults = faults.filter { nowMs - $0.value.lastAtMs <= Self.memoryMs }
    var fault = faults[place] ?? Fault(firstAtMs: nowMs, lastAtMs: nowMs)
    fault.lastAtMs = nowMs
    if faults[place] != nil || faults.count < Self.placesMax { faults[place] = fault }
    return nowMs - fault.firstAtMs >= Self.patienceMs && faults.count <= Self.damagedPlacesMax
  }

  /// Notes that a place was read.
  mutating func readSucceeded(at place: Place) { faults[place] = nil }
}
