/// One thing that is wrong with a configuration.
package struct ConfigurationProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// The key's path (`upstreams.default.retry.factor`), variable (`WAYSTATION_LISTEN`) or flag
  /// (`--listen`) that it is about; empty if it is about the file as a whole.
  package let key: String
  /// The expected and the actual value, as a part of a sentence.
  package let reason: String

  /// The key and the reason.
  package var description: String { key.isEmpty ? reason : "\(key): \(reason)" }

  /// A problem in the caller's words.
  package init(key: String, reason: String) {
    self.key = key
    self.reason = reason
  }

  /// A problem with a value.
  package init(key: String, expected: String, found: String) {
    let comma = expected.hasSuffix(", or null") ? "," : ""
    self.init(key: key, reason: "expected \(expected)\(comma) but found \(found)")
  }
}

/// Everything that is wrong with a configuration, in the order in which it was found.
package struct ConfigurationErrors: Error, Equatable, Sendable, CustomStringConvertible {
  /// At least one problem.
  package let problems: [ConfigurationProblem]

  /// One problem a line.
  package var description: String { problems.map(\.description).joined(separator: "\n") }

  /// All of them.
  package init(_ problems: [ConfigurationProblem]) {
    precondition(!problems.isEmpty)
    self.problems = problems
  }
}

/// Collects problems while a configuration is read, so that all of them can be told at once.
///
/// A class, so that readers of nested sections can share it; it never leaves the thread that reads.
final class ProblemCollector {
  private(set) var problems: [ConfigurationProblem] = []

  func add(_ problem: ConfigurationProblem) { problems.append(problem) }
  func add(_ key: String, _ reason: String) { add(ConfigurationProblem(key: key, reason: reason)) }
  func add(_ key: String, expected: String, found: String) {
    add(ConfigurationProblem(key: key, expected: expected, found: found))
  }
}
