import JSON
import RelayCore

extension LaneRules {
  /// Writes the rules in the file's own form.
  func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("order", order.rawValue)
      json.member("ttlSeconds") { $0.integerOrNull(ttlMs.map { $0 / 1000 }) }
      json.member("gapTimeoutSeconds") { $0.integerOrNull(gapTimeoutMs.map { $0 / 1000 }) }
      json.member("startPaused", startPaused)
    }
  }
}

extension ClientRules {
  /// Writes the rules in the file's own form.
  func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("startPaused", startPaused)
      quota.writeMembers(to: &json)
    }
  }
}

extension JSONWriter {
  /// Values by name, as one member.
  mutating func memberPatterns<Value>(
    _ name: String, _ patterns: NamePatterns<Value>, _ write: (Value, inout JSONWriter) -> Void
  ) {
    memberObject(name) { json in
      for entry in patterns.entries { json.member(entry.pattern) { write(entry.value, &$0) } }
    }
  }

  /// Collections of tags, as one member.
  mutating func memberCollections(_ name: String, _ collections: [TagCollection]) {
    memberObject(name) { json in
      for collection in collections {
        json.memberArray(collection.name) { json in
          for tag in collection.tags { json.string(tag) }
        }
      }
    }
  }
}
