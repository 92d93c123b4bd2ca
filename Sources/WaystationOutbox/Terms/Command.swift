/// Something to do that becomes a request only when its turn comes.
///
/// What is stored is the command's bytes, its tag and its version. A handler that is registered for
/// the tag makes the request, so that it can bring what was not known before.
public protocol Command: Sendable {
  /// The tag of all commands of this type.
  static var tag: Tag { get }
  /// The version of the form in which they are stored.
  static var version: Int { get }

  /// Reads a command.
  ///
  /// - Parameter version: The version in which it was stored; it may be an older one.
  /// - Throws: If it cannot be read. The item waits for somebody then.
  init(stored: [UInt8], version: Int) throws

  /// The bytes that are stored.
  func stored() throws -> [UInt8]
}

/// What a handler makes of a command.
public enum Making: Sendable {
  /// This request.
  case request(Request)
  /// Not now; asked again after so long, or when the outbox is woken.
  case notYet(retryAfter: Duration?)
  /// The command is given up.
  case drop(reason: String)
  /// The item waits for somebody.
  case failed(RecordedError)
}

/// What a handler knows of an item.
public struct Attempt: Sendable {
  /// The item.
  public let item: Item
  /// How often it was made into a request, this time included.
  public let number: Int
}
