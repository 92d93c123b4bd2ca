import Foundation

/// Foundation's `JSONEncoder` and `JSONDecoder`.
///
/// Members stand in the order of their names, so the same value always has the same bytes. Dates
/// are written as in `2026-11-27T02:30:00Z`.
public struct FoundationJSON: JSONForm {
  private let change: @Sendable (JSONEncoder, JSONDecoder) -> Void

  /// The usual form, or one with strategies of the app's own.
  ///
  /// - Parameter change: Sets up the encoder and the decoder that are used for one value.
  public init(_ change: @escaping @Sendable (JSONEncoder, JSONDecoder) -> Void = { _, _ in }) {
    self.change = change
  }

  /// The JSON of a value.
  public func encode(_ value: some Encodable) throws(JSONFault) -> [UInt8] {
    let (encoder, _) = coders()
    do { return Array(try encoder.encode(value)) } catch { throw JSONFault(error) }
  }

  /// The value that some JSON stands for.
  public func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8]
  ) throws(JSONFault) -> Value {
    let (_, decoder) = coders()
    do { return try decoder.decode(type, from: Data(bytes)) } catch { throw JSONFault(error) }
  }

  private func coders() -> (JSONEncoder, JSONDecoder) {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.dateEncodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .iso8601
    change(encoder, decoder)
    // Whatever else was changed.
    encoder.outputFormatting.formUnion([.sortedKeys, .withoutEscapingSlashes])
    return (encoder, decoder)
  }
}

extension JSONFault {
  /// What an encoder or a decoder has thrown.
  init(_ error: any Error) {
    switch error {
    case EncodingError.invalidValue(_, let context): self.init(context)
    case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context),
      DecodingError.valueNotFound(_, let context):
      self.init(context)
    case DecodingError.keyNotFound(let key, let context):
      self.init(
        path: Self.path(context.codingPath + [key]), reason: "it is missing")
    default: self.init(reason: "\(error)")
    }
  }

  private init(_ context: EncodingError.Context) {
    self.init(path: Self.path(context.codingPath), reason: context.debugDescription)
  }

  private init(_ context: DecodingError.Context) {
    self.init(path: Self.path(context.codingPath), reason: context.debugDescription)
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
  }
}
