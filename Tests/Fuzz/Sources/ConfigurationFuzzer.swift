import HTTPServer
import JSON

@testable import RelayServer

/// The configuration: it is refused with a reason, or fits the parts and is shown as JSON.
enum ConfigurationFuzzer {
  static func run(_ bytes: [UInt8]) {
    let loaded = Configuration.load(
      file: ("waystation.json", bytes), environment: ["NAME": "value", "EMPTY": ""],
      readSecret: { (path) throws(SecretFile.Fault) in Array(path.utf8.dropFirst()) })
    switch loaded {
    case .failure(let errors):
      expectHolds(!"\(errors)".isEmpty, "a refusal says why")
    case .success(let configuration):
      let shown = configuration.description
      guard (try? JSONValue.parse(Array(shown.utf8))) != nil else {
        fatalError("the configuration is shown as no JSON: \(shown)")
      }
      _ = AcceptanceRules(configuration)
      expectHolds(configuration.limits.http.validate().isEmpty, "limits that fit the server")
    }
  }
}
