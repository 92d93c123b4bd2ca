import JSON
import RelayCore

/// The terms of an operation on many envelopes: the body of `POST /v1/operations`.
package struct OperationTerms: Sendable, Equatable {
  /// The action on each envelope.
  package let action: Operation.Action
  /// With which.
  package let filter: EnvelopeSelection
  /// The number of envelopes, if the caller has counted them.
  package let expectedCount: Int?

  /// Whether a replay sends fresh keys.
  package let hasFreshKeys: Bool

  private static let fields = SelectionField.names + ["state"]

  /// Reads the body; nil stands for none.
  ///
  /// - Throws: `malformed-json`, `unknown-field`, `missing-field` or `invalid-field`.
  package init(_ text: [UInt8]?) throws(Problem) {
    var action: Operation.Action?
    var filter: JSONValue?
    var expectedCount: Int?
    var hasFreshKeys: Bool?
    let names = ["action", "filter", "expectedCount", "idempotencyKeys"]
    try CommandTerms.forEach(of: text, names) { member throws(Problem) in
      switch member.name {
      case "action": action = try Self.action(member.value)
      case "filter": filter = member.value
      case "idempotencyKeys": hasFreshKeys = try Self.isFresh(member.value)
      default: expectedCount = try Self.count(member.value)
      }
    }
    guard let action else {
      throw .missingField(
        "/action", "The body does not say what is to be done.",
        fix: "Send action as one of \(Self.actions).")
    }
    guard let filter else { throw Self.emptyFilter() }
    self.action = action
    self.filter = try Self.filter(filter, for: action)
    self.expectedCount = expectedCount
    self.hasFreshKeys = hasFreshKeys ?? false
    if action != .replay, hasFreshKeys != nil {
      throw .invalidField(
        "/idempotencyKeys", "idempotencyKeys is for a replay, and this is a \(action.rawValue).",
        fix: "Leave the field out.")
    }
  }

  private static let actions = Operation.Action.allCases.map { "\"\($0.rawValue)\"" }
    .joined(separator: ", ")

  private static func action(_ value: JSONValue) throws(Problem) -> Operation.Action {
    guard let word = try? value.string(), let action = Operation.Action(rawValue: word) else {
      throw EnvelopeFields.wrong("action", value, "one of \(actions)")
    }
    return action
  }

  private static func isFresh(_ value: JSONValue) throws(Problem) -> Bool {
    switch try? value.string() {
    case "same": return false
    case "fresh": return true
    default: throw EnvelopeFields.wrong("idempotencyKeys", value, "\"same\" or \"fresh\"")
    }
  }

  private static func count(_ value: JSONValue) throws(Problem) -> Int {
    guard let count = value.wholeNumber, (0...Int64(OperationLimits.envelopesMax)).contains(count)
    else {
      throw EnvelopeFields.wrong(
        "expectedCount", value, "a whole number from 0 to \(OperationLimits.envelopesMax)")
    }
    return Int(count)
  }

  private static func emptyFilter() -> Problem {
    .missingField(
      "/filter", "The filter names nothing, so that it would mean everything.",
      fix: "Name at least one of \(fields.joined(separator: ", ")) in filter.")
  }

  private static func filter(
    _ value: JSONValue, for action: Operation.Action
  ) throws(Problem) -> EnvelopeSelection {
    guard let object = try? value.object() else {
      throw EnvelopeFields.wrong("filter", value, "an object")
    }
    var filter = EnvelopeSelection(states: action.usualStates)
    var isEmpty = true
    for member in object {
      isEmpty = false
      let name = member.name.string
      if name == "state" {
        filter.states = try states(member.value, for: action)
      } else if let field = SelectionField.named(name) {
        guard field.takeJSON(member.value, &filter) else {
          throw EnvelopeFields.wrong("filter/\(name)", member.value, field.rule)
        }
      } else {
        throw .unknownField(
          "/filter/\(name)", name: name, near: NearestWord.find(name, in: fields))
      }
    }
    guard !isEmpty else { throw emptyFilter() }
    return filter
  }

  private static func states(
    _ value: JSONValue, for action: Operation.Action
  ) throws(Problem) -> Set<EnvelopeState> {
    let known = EnvelopeState.allCases.filter { action.states.contains($0) }.map(\.rawValue)
    let words = known.joined(separator: ", ")
    let wanted = "any of \(words) for \(action.rawValue), with commas in between"
    guard let text = try? value.string() else {
      throw EnvelopeFields.wrong("filter/state", value, wanted)
    }
    var states: Set<EnvelopeState> = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let state = EnvelopeState(rawValue: String(word)), action.states.contains(state) else {
        throw EnvelopeFields.wrong("filter/state", value, wanted)
      }
      states.insert(state)
    }
    return states
  }
}
