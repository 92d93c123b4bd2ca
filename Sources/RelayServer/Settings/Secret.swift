/// A text that must not be seen in logs, errors or dumps: a credential, likely.
package struct Secret: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The text itself; only for sending it to where it belongs.
  package let value: String

  /// Wraps a text.
  package init(_ value: String) { self.value = value }

  /// The text shown in its place.
  package static let placeholder = "(hidden)"

  /// The placeholder.
  package var description: String { Self.placeholder }
  /// The placeholder.
  package var debugDescription: String { Self.placeholder }
  /// Shows nothing: `dump` and string interpolation of a value around it go by the mirror.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
