/// Which reads of the disk fail, and for how long: whether that is trouble or damage.
///
/// A disk that answers nothing for a moment has lost nothing. A few places that stay unreadable are
/// damage. Many places that do are a disk that is away, which may come back.
struct ReadFaults {
  /// A place on a disk, as a read names it.
  struct Place: Hashable {
    var device: UInt64
    var file: UInt64
    /// In bytes from the beginning of the file.
    var offset: Int64
  }

  /// How long a place must have stayed unreadable to count as damaged, in milliseconds.
  static let patienceMs: Int64 = 30_000
  /// A place that has not failed for so long, in milliseconds, begins anew.
  static let memoryMs: Int64 = 60_000
  /// How many places may be damaged at once; where more fail, the disk is away.
  static let damagedPlacesMax = 16
  /// How many places are remembered.
  static let placesMax = 64

  private struct Fault {
    var firstAtMs: Int64
    var lastAtMs: Int64
  }

  private var faults: [Place: Fault] = [:]

  /// Whether no place is remembered.
  var isEmpty: Bool { faults.isEmpty }

  /// A place could not be read.
  ///
  /// - Parameter nowMs: Of a clock that only goes forward.
  /// - Returns: Whether the place is damaged.
  mutating func readFailed(at place: Place, nowMs: Int64) -> Bool {
    faults = faults.filter { nowMs - $0.value.lastAtMs <= Self.memoryMs }
    var fault = faults[place] ?? Fault(firstAtMs: nowMs, lastAtMs: nowMs)
    fault.lastAtMs = nowMs
    if faults[place] != nil || faults.count < Self.placesMax { faults[place] = fault }
    return nowMs - fault.firstAtMs >= Self.patienceMs && faults.count <= Self.damagedPlacesMax
  }

  /// A place could be read.
  mutating func readSucceeded(at place: Place) { faults[place] = nil }
}
