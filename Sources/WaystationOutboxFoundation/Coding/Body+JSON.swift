import WaystationOutbox

extension Body {
  /// The JSON of a value.
  ///
  /// A text that is JSON already is ``WaystationOutbox/Body/json(_:)``.
  ///
  /// - Throws: What in the value has no JSON, such as a number that is not finite.
  public static func json(
    encoding value: some Encodable, as form: some JSONForm = FoundationJSON()
  ) throws(JSONFault) -> Body {
    .bytes(try form.encode(value), type: "application/json")
  }
}

extension Response {
  /// The value that the body stands for.
  ///
  /// - Throws: What is missing or of another kind; also if the body is cut.
  public func decoded<Value: Decodable>(
    as type: Value.Type = Value.self, _ form: some JSONForm = FoundationJSON()
  ) throws(JSONFault) -> Value {
    guard !isCut else {
      throw JSONFault(reason: "the body is cut after \(body.count) bytes")
    }
    return try form.decode(type, from: body)
  }
}
