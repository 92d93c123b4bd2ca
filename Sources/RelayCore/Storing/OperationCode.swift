/// The encoding of operations in the database, fixed for good.
package enum OperationCode {
  /// A line for each refusal: the problem, the number of envelopes, an example.
  package static func text(of refusals: [Operation.Refusal]) -> String {
    refusals.map { "\($0.problem) \($0.count) \($0.example)" }.joined(separator: "\n")
  }

  /// The refusals in a text; lines that are not valid are left out.
  package static func refusals(_ text: String) -> [Operation.Refusal] {
    text.split(separator: "\n").prefix(Operation.refusalsMax).compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let count = Int(words[1]), count >= 0,
        let example = EnvelopeID(parsing: String(words[2]))
      else { return nil }
      return Operation.Refusal(problem: String(words[0]), count: count, example: example)
    }
  }

  /// The states of a filter; words that are not valid are left out.
  package static func states(_ text: String) -> Set<EnvelopeState> {
    Set(text.split(separator: ",").compactMap { EnvelopeState(rawValue: String($0)) })
  }
}
