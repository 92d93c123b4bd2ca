import RelayServer
import Testing

/// A key that is declared, read, written and documented may still do nothing.
///
/// The tests here look at the sources. A word that stands for other things as well, such as `path`,
/// they cannot tell apart.
@Suite("What keys of the configuration are for")
struct ConfigurationUseTests {
  /// A source without its comments and the words of its texts.
  private func code(_ text: String) -> String {
    text.replacing(#/"""[\s\S]*?"""/#, with: "")
      .replacing(#/\/\/.*/#, with: "")
      // What a text has put in is code.
      .replacing(#/"(?:\\[^(]|[^"\\\n])*"/#, with: "")
  }

  private static func isSettings(_ path: String) -> Bool {
    path.hasPrefix("RelayServer/Settings/")
  }

  /// The last names in the key paths of a file's records.
  private func properties(_ text: String) -> [String] {
    text.matches(of: #/Key(?:\.\w+)?\(\s*(?:\w+: )?(?:"\w+", )?\\\.(?:\w+\.)*(\w+)/#).map {
      String($0.1)
    }
  }

  @Test("something other than its record and its check reads the value of each key")
  func used() throws {
    let sources = try Documents.sources()
    var reads: Set<String> = []
    for (path, text) in sources where !path.hasSuffix("/Configuration+Relations.swift") {
      // Neither a declaration, nor a parameter's label, nor a value that is set.
      var rest = code(text).replacing(#/\b(?:var|let|case|func) +\w+/#, with: "")
        .replacing(#/\b\w+(?=:)/#, with: "").replacing(#/\bself\.\w+ = /#, with: "")
      // In a record it stands as a key path.
      if Self.isSettings(path) { rest.replace(#/\\(?:\.\w+)+/#, with: "") }
      for match in rest.matches(of: #/\w+/#) { reads.insert(String(match.output)) }
    }
    var count = 0
    for (path, text) in sources where Self.isSettings(path) {
      for property in properties(text) {
        count += 1
        if !reads.contains(property) { Issue.record("nothing reads \(property) of \(path)") }
      }
    }
    #expect(count > 120, "the records are found")
  }

  @Test(
    "what a start reads of the configuration by itself needs a restart, or is in takeUp as well")
  func reloaded() throws {
    let sources = Dictionary(
      uniqueKeysWithValues: try Documents.sources().map { ($0.path, code($0.text)) })
    let needingRestart: Set = [
      "listen", "data", "lanes", "clock", "certificatesName", "clockFile",
    ]
    let reload = try #require(sources["RelayServer/Relay/Relay+Reload.swift"])
    let takenUp = Set(reload.matches(of: #/\bnew\.(\w+(?:\.\w+)?)/#).map { String($0.1) })
    let start = try #require(sources["RelayServer/Relay/Relay.swift"])
    let read = start.matches(of: #/\bconfiguration\.(\w+)((?:\.\w+)?)/#).map {
      (key: String($0.1), path: String($0.1) + String($0.2))
    }
    try #require(read.count > 5 && takenUp.count > 5)
    for (key, path) in read where !needingRestart.contains(key) {
      #expect(takenUp.contains(path) || takenUp.contains(key), "\(path) is read at the start alone")
    }
  }
}
