import Foundation
import RelayCore
import Testing

@Suite("What the documents and the page say of states")
struct StateDocumentTests {
  private static let names = EnvelopeState.allCases.map(\.rawValue)
  private static let waiting = EnvelopeState.allCases.filter { !$0.isEnd }.map(\.rawValue)

  /// The words of a list in brackets.
  private func words(_ text: String) -> [String] {
    text.components(separatedBy: CharacterSet(charactersIn: "[]\", ")).filter { !$0.isEmpty }
  }

  private func line(_ start: String, of lines: [String]) throws -> String {
    let line = lines.first { $0.trimmingCharacters(in: .whitespaces).hasPrefix(start) }
    return try #require(line).components(separatedBy: start)[1]
  }

  @Test("the contract has each state, and counts each")
  func contract() throws {
    let states = try Documents.schema("State")
    #expect(words(try line("enum: ", of: states)) == Self.names)
    #expect(Set(Documents.quoted(in: states.joined(separator: "\n"))) == Set(Self.names))
    let counts = try Documents.schema("StateCounts")
    #expect(words(try line("required: ", of: counts)) == Self.names)
    #expect(try Documents.properties(ofSchema: "StateCounts") == Self.names)
  }

  @Test("the protocol says of each state whether it waits")
  func protocolPage() throws {
    let page = try Documents.text("docs/protocol.md").components(separatedBy: "\n")
    let start = try #require(page.firstIndex { $0.hasPrefix("- `held`, ") })
    let item = page[start...].prefix { $0.hasPrefix("- `held`") || $0.hasPrefix("  ") }
      .joined(separator: " ")
    let sentences = item.components(separatedBy: ". ")
    #expect(Set(Documents.quoted(in: sentences[0])) == Set(Self.waiting))
    let ended = Set(Documents.quoted(in: sentences[1].components(separatedBy: " are ")[0]))
    #expect(ended == Set(Self.names).subtracting(Self.waiting))
  }

  @Test("the page has a word for each state, and knows which wait")
  func page() throws {
    let script = try Documents.text("Sources/CPage/files/format.js")
    let words = script.components(separatedBy: "export const stateWords = {")[1]
      .components(separatedBy: "}")[0]
    let named = words.matches(of: /(\w+): "/).map { String($0.1) }
    #expect(Set(named) == Set(Self.names))
    let waiting = try line(
      "export const waitingStates = ", of: script.components(separatedBy: "\n"))
    #expect(Set(self.words(waiting).filter { $0 != ";" }) == Set(Self.waiting))
  }

  // MARK: - Operations

  @Test("the contract says of each action which states it takes")
  func actions() throws {
    let schema = try Documents.schema("OperationTerms").joined(separator: "\n")
    let kinds = schema.components(separatedBy: "\n        - properties:\n").dropFirst()
    var found: [String: Set<String>] = [:]
    for kind in kinds {
      let lines = kind.components(separatedBy: "\n")
      let rule = try line("state: ", of: lines)
      // A pattern names each state twice: as the first one, and as a further one.
      let states = rule.matches(of: /[a-z]{3,}/).map { String($0.output) }
        .filter { $0 != "pattern" && $0 != "const" }
      for action in try line("action: ", of: lines).matches(of: /[a-z]+/).map({ "\($0.output)" })
      where action != "const" && action != "enum" {
        found[action] = Set(states)
      }
    }
    #expect(Set(found.keys) == Set(Operation.Action.allCases.map(\.rawValue)))
    for action in Operation.Action.allCases {
      #expect(found[action.rawValue] == Set(action.states.map(\.rawValue)), "\(action)")
    }
    let named = words(try line("enum: ", of: try Documents.schema("OperationAction")))
    #expect(Set(named) == Set(Operation.Action.allCases.map(\.rawValue)))
  }

  @Test("the handbook's table says of each action which states it takes, and which it means")
  func table() throws {
    let rows = try Documents.table(
      "`action` | what it does with each | states that it takes | without `state`",
      in: "docs/operating.md")
    var found: [String: [String]] = [:]
    for row in rows { for action in Documents.quoted(in: row[0]) { found[action] = row } }
    #expect(Set(found.keys) == Set(Operation.Action.allCases.map(\.rawValue)))
    for action in Operation.Action.allCases {
      let row = try #require(found[action.rawValue])
      #expect(Set(Documents.quoted(in: row[2])) == Set(action.states.map(\.rawValue)), "\(action)")
      let usual =
        row[3] == "all that wait" ? Set(Self.waiting) : Set(Documents.quoted(in: row[3]))
      #expect(usual == Set(action.usualStates.map(\.rawValue)), "\(action)")
    }
  }

  @Test("the page offers each action for the states that it takes")
  func manyControls() throws {
    let script = try Documents.text("Sources/CPage/files/many.js")
    for action in Operation.Action.allCases {
      let kind = try #require(
        script.components(separatedBy: "\n  \(action.rawValue): {\n").dropFirst().first)
      let list = kind.components(separatedBy: "states: ")[1].components(separatedBy: "]")[0]
      var states = Set(words(list))
      if states.remove("...waitingStates") != nil { states.formUnion(Self.waiting) }
      #expect(states == Set(action.states.map(\.rawValue)), "\(action)")
    }
  }
}
