import JSON
import RelayCore

// Sections whose keys are names that senders choose: lanes, clients, collections of tags.

extension SectionReader {
  /// Values by name, or by the beginning of names.
  mutating func readPatterns<Value>(
    of kind: String, _ read: (inout SectionReader) -> Value
  ) -> NamePatterns<Value> {
    var entries: [NamePatterns<Value>.Entry] = []
    for (pattern, value) in all {
      _ = self.value(pattern)
      guard NameSyntax.isName(Array(pattern.utf8)[...]), NamePatterns<Value>.isPattern(pattern)
      else {
        problems.add(
          path(of: pattern),
          "a \(kind)'s name has \(NameSyntax.rule); \"*\" may stand at its end, for every name that"
            + " begins so")
        continue
      }
      guard var section = SectionReader(value, path: path(of: pattern), problems: problems) else {
        continue
      }
      entries.append(NamePatterns<Value>.Entry(pattern: pattern, value: read(&section)))
      section.finish()
    }
    return NamePatterns(entries)
  }

  /// Collections of tags, by name.
  mutating func readCollections() -> [TagCollection] {
    var collections: [TagCollection] = []
    for (name, value) in all {
      _ = self.value(name)
      guard NameSyntax.isName(Array(name.utf8)[...]) else {
        problems.add(path(of: name), "a collection's name has \(NameSyntax.rule)")
        continue
      }
      if let tags = tags(value, at: path(of: name)) {
        collections.append(TagCollection(name: name, tags: tags))
      }
    }
    return collections
  }

  private func tags(_ value: JSONValue, at path: String) -> [String]? {
    let tags = (try? value.array())?.map { element -> String? in
      guard let tag = try? element.string(), NameSyntax.isName(Array(tag.utf8)[...]) else {
        return nil
      }
      return tag
    }
    guard let tags, (1...TagCollection.tagsMax).contains(tags.count), !tags.contains(nil) else {
      problems.add(
        path, expected: "an array of 1 to \(TagCollection.tagsMax) tags (each \(NameSyntax.rule))",
        found: value.shown)
      return nil
    }
    var seen: Set<String> = []
    let named = tags.compactMap { $0 }
    if let twice = named.first(where: { !seen.insert($0).inserted }) {
      problems.add(path, "the tag \"\(twice)\" stands there twice")
      return nil
    }
    return named
  }
}

extension LaneRules {
  /// Reads the rules of one lane, or of several whose names begin alike.
  static func read(_ section: inout SectionReader) -> LaneRules {
    var rules = LaneRules()
    section.word("order", into: &rules.order)
    section.optionalSeconds("ttlSeconds", intoMs: &rules.ttlMs)
    section.optionalSeconds("gapTimeoutSeconds", intoMs: &rules.gapTimeoutMs)
    section.flag("startPaused", into: &rules.startPaused)
    if rules.order == .latest, rules.gapTimeoutMs != nil {
      section.problems.add(
        section.path(of: "gapTimeoutSeconds"),
        "a lane of the order \"latest\" takes no sequence numbers, so it has no gaps to wait for")
    }
    return rules
  }
}

extension ClientRules {
  /// Reads the rules of one client, or of several whose names begin alike.
  static func read(_ section: inout SectionReader) -> ClientRules {
    var rules = ClientRules()
    section.flag("startPaused", into: &rules.startPaused)
    rules.quota.read(&section)
    return rules
  }
}

extension SectionReader {
  /// A time in whole seconds, at least one, or `null` for none; kept in milliseconds.
  fileprivate mutating func optionalSeconds(_ key: String, intoMs target: inout Int64?) {
    var seconds = target.map { Int($0 / 1000) }
    optionalInteger(key, into: &seconds, 1...Configuration.secondsMax)
    target = seconds.map { Int64($0) * 1000 }
  }
}
