/// The sources of the secrets that a configuration file names in place of holding them.
struct SecretSources {
  /// The environment's variables.
  let environment: [String: String]
  /// Reads a file.
  let readFile: SecretFile.Reader
}

/// Puts environment variables in place of `${NAME}`, and the contents of files in place of
/// `${file:PATH}`, so that secrets can stay out of the configuration file.
enum VariableExpansion {
  /// Everything that keeps a text from being expanded; each reason fits after the key's path.
  struct Failure: Error, Equatable {
    let reasons: [String]
  }

  private static let filePrefix = "file:"

  /// `text` with each `${NAME}` replaced by that variable, each `${file:PATH}` by what that file
  /// holds, and each `$${` by `${`.
  ///
  /// A variable that is empty counts as missing: an upstream that is sent `Bearer ` and nothing
  /// else would refuse everything.
  ///
  /// - Parameter values: Takes the values that were put in.
  static func expand(
    _ text: String, from sources: SecretSources, values: inout [String]
  ) throws(Failure) -> String {
    var expanded = ""
    var reasons: [String] = []
    var rest = text[...]
    while let dollar = rest.firstIndex(of: "$") {
      expanded += rest[..<dollar]
      rest = rest[dollar...]
      if rest.hasPrefix("$${") {
        expanded += "${"
        rest = rest.dropFirst(3)
      } else if rest.hasPrefix("${") {
        guard let brace = rest.firstIndex(of: "}") else {
          reasons.append("\"${\" is not closed by \"}\" (write \"$${\" for the text \"${\")")
          throw Failure(reasons: reasons)
        }
        let name = String(rest[rest.index(rest.startIndex, offsetBy: 2)..<brace])
        switch value(of: name, sources) {
        case .success(let value):
          expanded += value
          values.append(value)
        case .failure(let fault): reasons.append(fault.reason)
        }
        rest = rest[rest.index(after: brace)...]
      } else {
        expanded += "$"
        rest = rest.dropFirst()
      }
    }
    guard reasons.isEmpty else { throw Failure(reasons: reasons) }
    return expanded + rest
  }

  private static func value(
    of name: String, _ sources: SecretSources
  ) -> Result<String, SecretFile.Fault> {
    if name.hasPrefix(filePrefix) {
      return contents(of: String(name.dropFirst(filePrefix.count)), sources)
    }
    guard isVariableName(name) else {
      return .failure(
        SecretFile.Fault(
          "expected the name of an environment variable in \"${…}\", or \"file:\" and a path"))
    }
    guard let value = sources.environment[name], !value.isEmpty else {
      return .failure(
        SecretFile.Fault("the environment variable \(name) is not set, or is empty"))
    }
    return .success(value)
  }

  private static func contents(
    of path: String, _ sources: SecretSources
  ) -> Result<String, SecretFile.Fault> {
    // Any other path would depend on the folder that the relay is started in.
    guard path.hasPrefix("/"), !path.utf8.contains(0) else {
      return .failure(
        SecretFile.Fault(
          "expected an absolute path in \"${file:…}\", as in \"${file:/run/secrets/token}\""))
    }
    do throws(SecretFile.Fault) {
      return .success(try SecretFile.secret(in: try sources.readFile(path)))
    } catch {
      return .failure(SecretFile.Fault("the file \(path) \(error.reason)"))
    }
  }

  private static func isVariableName(_ name: String) -> Bool {
    guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return name.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        || $0 == UInt8(ascii: "_")
    }
  }
}
