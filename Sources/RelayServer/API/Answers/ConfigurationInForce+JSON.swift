import JSON
import RelayCore

extension ConfigurationInForce {
  /// Which configuration is in force, and what came of the last reload.
  func writeMembers(to json: inout JSONWriter) {
    if let origin = settings.configuration.origin {
      json.member("path", origin.path)
      json.member("sha256", origin.sha256)
    }
    json.member("generation", generation)
    json.member("loadedAt", loadedAt)
    guard let reload = lastReload else { return }
    json.memberObject("lastReload") { json in
      json.member("at", reload.at)
      json.member("result", reload.result.rawValue)
      guard !reload.problems.isEmpty else { return }
      json.memberArray("problems") { json in
        for problem in reload.problems { json.string(problem) }
      }
    }
  }
}
