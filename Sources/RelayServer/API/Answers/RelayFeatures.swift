import JSON

/// What this relay can do that an older one cannot, for devices that meet both.
package enum RelayFeatures {
  /// The names, in alphabetical order; `docs/protocol.md` says what each means.
  package static let names = ["blocked-lanes", "by-key", "responses", "spans", "sync", "uploads"]

  /// Writes them, and the release.
  ///
  /// - Parameter uploads: Whether the configuration allows for uploads.
  static func write(to json: inout JSONWriter, uploads: Bool) {
    json.member("version", ReleaseVersion.number)
    json.memberArray("features") { json in
      for name in names where uploads || name != "uploads" { json.string(name) }
    }
  }
}
