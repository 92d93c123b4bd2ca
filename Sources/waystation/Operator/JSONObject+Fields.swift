import JSON
import RelayCore

extension JSONObject {
  /// A member that is a string; nil if there is none.
  func text(_ name: StaticString) -> String? { try? self[name]?.string() }

  /// The whole numbers that all JSON parsers agree on (RFC 8259 section 6).
  ///
  /// A number beyond them is replaced by the nearest, so that sums of a few, and thousands of one,
  /// cannot overflow.
  private static let agreedNumbers: ClosedRange<Int64> = -(1 << 53) + 1...(1 << 53) - 1

  /// A member that is a whole number; 0 if there is none.
  func number(_ name: StaticString) -> Int64 { optionalNumber(name) ?? 0 }

  /// A member that is a whole number; nil if there is none.
  func optionalNumber(_ name: StaticString) -> Int64? {
    (try? self[name]?.int64()).map(Self.agreed)
  }

  private static func agreed(_ number: Int64) -> Int64 {
    Swift.min(Swift.max(number, agreedNumbers.lowerBound), agreedNumbers.upperBound)
  }

  /// The number of envelopes in each state, as a member has it; 0 for a state that is not there.
  func counts(_ name: StaticString) -> [EnvelopeState: Int64] {
    guard let object = object(name) else { return [:] }
    var counts: [EnvelopeState: Int64] = [:]
    for member in object {
      guard let state = EnvelopeState(rawValue: member.name.string) else { continue }
      counts[state] = (try? member.value.int64()).map(Self.agreed)
    }
    return counts
  }

  func decimal(_ name: StaticString) -> Double { (try? self[name]?.double()) ?? 0 }

  func has(_ name: StaticString) -> Bool { (try? self[name]?.bool()) ?? false }

  func object(_ name: StaticString) -> JSONObject? { try? self[name]?.object() }

  /// The members of an array that are objects.
  func objects(_ name: StaticString) -> [JSONObject] {
    guard let array = try? self[name]?.array() else { return [] }
    return array.compactMap { try? $0.object() }
  }

  /// The members of an array that are texts.
  func texts(_ name: StaticString) -> [String] {
    guard let array = try? self[name]?.array() else { return [] }
    return array.compactMap { try? $0.string() }
  }

  /// The object as one line of JSON that is safe on a terminal.
  var line: String { SafeText.json(value.raw) }
}
