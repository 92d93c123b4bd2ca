/// The store's number of an envelope, in order of acceptance: from 1, never given out twice.
package typealias Serial = Int64

/// The store's number of a client.
package struct ClientNumber: Hashable, Comparable, Sendable {
  /// The number itself, from 1.
  package let rawValue: Int64
  /// Wraps a number that the store gave out.
  package init(rawValue: Int64) { self.rawValue = rawValue }
  /// Orders by number, so that a walk through a set of them can be repeated.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The store's number of a lane: one client's line, under one name.
package struct LaneNumber: Hashable, Comparable, Sendable {
  /// The number itself, from 1.
  package let rawValue: Int64
  /// Wraps a number that the store gave out.
  package init(rawValue: Int64) { self.rawValue = rawValue }
  /// Orders by number, so that a walk through a set of them can be repeated.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The store's number of an upstream's name.
///
/// A name keeps its number when the configuration changes.
package struct UpstreamNumber: Hashable, Comparable, Sendable {
  /// The number itself, from 1.
  package let rawValue: Int32
  /// Wraps a number that the store gave out.
  package init(rawValue: Int32) { self.rawValue = rawValue }
  /// Orders by number, so that a walk through a set of them can be repeated.
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension Serial: SequentialNumber {
  var bits: UInt64 { UInt64(bitPattern: self) }
  static var unassigned: Serial { 0 }
}

extension ClientNumber: SequentialNumber {
  var bits: UInt64 { rawValue.bits }
  static var unassigned: ClientNumber { ClientNumber(rawValue: 0) }
}

extension LaneNumber: SequentialNumber {
  var bits: UInt64 { rawValue.bits }
  static var unassigned: LaneNumber { LaneNumber(rawValue: 0) }
}

extension UpstreamNumber: SequentialNumber {
  var bits: UInt64 { UInt64(UInt32(bitPattern: rawValue)) }
  static var unassigned: UpstreamNumber { UpstreamNumber(rawValue: 0) }
}
