/// The line in which items wait: what stands in one lane goes out in the lane's order, and lanes do
/// not wait for each other.
///
/// A name has 1 to 128 visible ASCII characters. It is the name of the lane at the relay.
public struct Lane: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The lane's name.
  public let name: String

  /// The lane of this name.
  public init(_ name: String) { self.name = name }

  /// The lane of this name.
  public init(stringLiteral name: String) { self.name = name }

  /// The lane of items that name none.
  public static let `default`: Lane = "default"

  /// The name.
  public var description: String { name }
}

/// The app's own word for a kind of item, to find them by, to group them, and to make requests of
/// commands.
///
/// A tag has 1 to 128 visible ASCII characters.
public struct Tag: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The tag's name.
  public let name: String

  /// The tag of this name.
  public init(_ name: String) { self.name = name }

  /// The tag of this name.
  public init(stringLiteral name: String) { self.name = name }

  /// The name.
  public var description: String { name }
}

/// A time of day: milliseconds since 1970-01-01T00:00:00Z, by the device's clock.
public struct Instant: Hashable, Sendable, Comparable {
  /// Milliseconds since the epoch.
  public let milliseconds: Int64

  /// The time so many milliseconds after the epoch.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Whether the left one is earlier.
  public static func < (left: Instant, right: Instant) -> Bool {
    left.milliseconds < right.milliseconds
  }

  /// The time so many milliseconds later.
  func adding(milliseconds more: Int64) -> Instant {
    let (sum, isTooLarge) = milliseconds.addingReportingOverflow(more)
    return Instant(milliseconds: isTooLarge ? (more > 0 ? .max : .min) : sum)
  }
}
