import JSON

/// The relay's answers about one envelope.
enum EnvelopeAnswer {
  /// The id in it; nil if there is none.
  static func id(_ body: [UInt8]) -> String? { member("id", of: body) }

  /// The state in it; nil if there is none.
  static func state(_ body: [UInt8]) -> String? { member("state", of: body) }

  /// Whether it says that the same was taken before.
  static func isDuplicate(_ body: [UInt8]) -> Bool { member("result", of: body) == "duplicate" }

  /// The sequence number in it; nil if there is none.
  static func sequence(_ body: [UInt8]) -> UInt64? {
    guard let object = try? JSONValue.parse(body).object(),
      let number = try? object["sequence"]?.int64(), number > 0
    else { return nil }
    return UInt64(number)
  }

  private static func member(_ name: StaticString, of body: [UInt8]) -> String? {
    guard let value = try? JSONValue.parse(body), let object = try? value.object() else {
      return nil
    }
    return (try? object[name]?.string()) ?? nil
  }
}
