/// Makes JSON of values, and values of JSON.
///
/// It must make the same bytes of the same value each time: a repeat of an item's key with another
/// body is refused.
public protocol JSONForm: Sendable {
  /// The JSON of a value.
  func encode(_ value: some Encodable) throws(JSONFault) -> [UInt8]

  /// The value that some JSON stands for.
  func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8]
  ) throws(JSONFault) -> Value
}

/// Why there is no JSON of a value, or no value of some JSON.
public struct JSONFault: Error, Sendable, Equatable, CustomStringConvertible {
  /// The place in the value, as in `lines.2.price`; empty for the whole.
  public let path: String
  /// In words.
  public let reason: String

  /// A fault.
  public init(path: String = "", reason: String) {
    self.path = path
    self.reason = reason
  }

  /// The place and the reason.
  public var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}
