/// Puts environment variables in place of `${NAME}`, so that secrets can stay out of the file.
enum VariableExpansion {
  /// Why a text could not be expanded; in words that fit after the key's path.
  struct Failure: Error, Equatable {
    let reason: String
  }

  /// `text` with each `${NAME}` replaced by that variable, and each `$${` by `${`.
  ///
  /// A variable that is empty counts as missing: an upstream that is sent `Bearer ` and nothing
  /// else would refuse everything.
  ///
  /// - Parameter values: Takes the values of the variables that were put in.
  static func expand(
    _ text: String, environment: [String: String], values: inout [String]
  ) throws(Failure) -> String {
    var expanded = ""
    var rest = text[...]
    while let dollar = rest.firstIndex(of: "$") {
      expanded += rest[..<dollar]
      rest = rest[dollar...]
      if rest.hasPrefix("$${") {
        expanded += "${"
        rest = rest.dropFirst(3)
      } else if rest.hasPrefix("${") {
        guard let brace = rest.firstIndex(of: "}") else {
          throw Failure(reason: "\"${\" is not closed by \"}\" (write \"$${\" for the text \"${\")")
        }
        let name = String(rest[rest.index(rest.startIndex, offsetBy: 2)..<brace])
        let value = try value(of: name, environment)
        expanded += value
        values.append(value)
        rest = rest[rest.index(after: brace)...]
      } else {
        expanded += "$"
        rest = rest.dropFirst()
      }
    }
    return expanded + rest
  }

  private static func value(
    of name: String, _ environment: [String: String]
  ) throws(Failure) -> String {
    guard isVariableName(name) else {
      throw Failure(reason: "expected the name of an environment variable in \"${…}\"")
    }
    guard let value = environment[name], !value.isEmpty else {
      throw Failure(reason: "the environment variable \(name) is not set, or is empty")
    }
    return value
  }

  private static func isVariableName(_ name: String) -> Bool {
    guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return name.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        || $0 == UInt8(ascii: "_")
    }
  }
}
