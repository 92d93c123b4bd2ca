import JSON
import RelayCore

// Sections whose keys are names that senders choose: lanes, clients, collections of tags.

extension SectionReader {
  /// Values by name, or by the beginning of names.
  fileprivate mutating func readPatterns<Rules: NamedRules>(
    of kind: String
  ) -> NamePatterns<Rules> {
    var entries: [NamePatterns<Rules>.Entry] = []
    for (pattern, value) in all {
      _ = self.value(pattern)
      guard NameSyntax.isName(Array(pattern.utf8)[...]), NamePatterns<Rules>.isPattern(pattern)
      else {
        problems.add(
          path(of: pattern),
          "a \(kind)'s name has \(NameSyntax.rule); \"*\" may stand at its end, for every name that"
            + " begins so")
        continue
      }
      guard var section = inner(value, path: path(of: pattern)) else { continue }
      var rules = Rules()
      section.read(into: &rules)
      section.finish()
      entries.append(NamePatterns<Rules>.Entry(pattern: pattern, value: rules))
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

/// Rules that count for all names that fit a pattern.
protocol NamedRules: KeyedSection, Hashable, Sendable {
  init()
}

extension ConfigurationKey {
  /// A section whose keys are names, or beginnings of names, with rules for each.
  init<Rules: NamedRules>(
    patterns name: String, _ path: WritableKeyPath<Section, NamePatterns<Rules>>, of kind: String,
    _ meaning: String, restart: String? = nil
  ) {
    self.init(
      name, path, "by \(kind)s' names, or beginnings of names", meaning, restart: restart,
      read: { section, reader in
        reader.section(name) { section[keyPath: path] = $0.readPatterns(of: kind) }
      },
      write: { section, json in
        json.memberObject(name) { json in
          for entry in section[keyPath: path].entries {
            json.memberObject(entry.pattern) { entry.value.writeMembers(to: &$0) }
          }
        }
      })
  }
}

extension LaneRules: NamedRules {
  private static let times = 1...Configuration.secondsMax

  @KeyList static var keys: [Key] {
    Key(
      "order", \.order, .word,
      """
      `"strict"`: first in, first out. `"latest"`: the newest first, for live data that must not \
      queue behind a backlog
      """)
    Key(
      "ttlSeconds", \.ttlMs, .optional(.seconds(times)),
      "how long after acceptance its envelopes expire, if nothing makes them expire before")
    Key(
      "gapTimeoutSeconds", \.gapTimeoutMs, .optional(.seconds(times)),
      """
      how long what arrived ahead of a gap in the sequence numbers waits for the missing ones; \
      without it, as long as it takes. Not in a lane of the order `latest`, which takes no \
      sequence numbers
      """)
    Key(
      "startPaused", \.startPaused, .flag, "whether it is paused when it is first known")
    Key(
      "evidence", \.isEvidence, .flag,
      """
      whether it is an [evidence lane](receipts.md#evidence-lanes): all that comes in it is \
      numbered and stays as it came, and a ledger says how each number ended. It takes `receipts`
      """)
  }

  func check(_ reader: SectionReader) {
    guard order == .latest else { return }
    if gapTimeoutMs != nil {
      reader.problems.add(
        reader.path(of: "gapTimeoutSeconds"),
        "a lane of the order \"latest\" takes no sequence numbers, so it has no gaps to wait for")
    }
    if isEvidence {
      reader.problems.add(
        reader.path(of: "evidence"),
        "a lane of the order \"latest\" takes no sequence numbers, so it can be no evidence lane")
    }
  }
}

extension ClientRules: NamedRules {
  @KeyList static var keys: [Key] {
    Key(
      "startPaused", \.startPaused, .flag, "whether it is paused when it is first known")
    Key(
      "waitingEnvelopesMax", \.quota.waitingEnvelopesMax,
      .inheritable(.integer(LimitsConfiguration.waitingCounts)),
      absent: "`limits.clientWaitingEnvelopesMax`",
      "how many of its envelopes may wait; `null` for no limit")
    Key(
      "waitingBytesMax", \.quota.waitingBytesMax,
      .inheritable(.integer(LimitsConfiguration.waitingBytes)),
      absent: "`limits.clientWaitingBytesMax`", "how many bytes of them")
    Key(
      "requestsPerSecondMax", \.quota.requestsPerSecondMax,
      .inheritable(.number(LimitsConfiguration.requestRates)),
      absent: "`limits.clientRequestsPerSecondMax`",
      "how many requests a second it may send in the long run")
    Key(
      "requestBurst", \.quota.requestBurst,
      .inheritable(.integer(LimitsConfiguration.requestBursts)), absent: "of one second",
      "how many at once, after a pause")
  }
}

extension KeyForm {
  /// A value, or `null` for no limit; where the key is absent, what counts for all clients stays.
  fileprivate static func inheritable<Limit>(
    _ form: KeyForm<Limit>
  ) -> KeyForm where Value == QuotaSetting<Limit> {
    let form = KeyForm<Limit?>.optional(form)
    return KeyForm(
      expected: form.expected, read: { form.read($0).map(Value.of) },
      write: { form.write($0.value(or: nil), &$1) }, isWritten: { $0 != .inherited })
  }
}
