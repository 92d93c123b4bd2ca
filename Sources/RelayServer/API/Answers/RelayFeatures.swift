import JSON

/// What this relay can do that an older one cannot, for devices that meet both.
package enum RelayFeatures {
  /// The names, in alphabetical order; `docs/protocol.md` says what each means.
  package static let names = [
    "blocked-lanes", "by-key", "ledger", "receipts", "renewal", "responses", "spans", "sync",
    "uploads",
  ]

  /// Writes them, and the release.
  ///
  /// - Parameters:
  ///   - uploads: Whether the configuration allows for uploads.
  ///   - receipts: Whether the relay makes receipts.
  static func write(to json: inout JSONWriter, uploads: Bool, receipts: Bool) {
    let missing = [
      uploads ? nil : "uploads", receipts ? nil : "receipts", receipts ? nil : "ledger",
    ]
    json.member("version", ReleaseVersion.number)
    json.memberArray("features") { json in
      for name in names where !missing.contains(name) { json.string(name) }
    }
  }
}
