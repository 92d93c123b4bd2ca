import Foundation
import JSON
import RelayCore
import Testing

@testable import RelayServer
@testable import waystation

/// Whoever looks at one envelope should find what its sender said of it.
@Suite("The fields of an envelope that people are shown")
struct ShownFieldTests {
  private static let names = Set(EnvelopeField.names)
  /// The fields that no view of the relay's has: they may hold secrets, are over, or are shown as
  /// the times that they come to.
  private static let unseen: Set = [
    "headers", "body", "bodyBase64", "void", "inOrder", "notBeforeIn", "expiresIn", "age",
  ]

  @Test("the command shows each field that the relay tells, but for three")
  func command() throws {
    // Only JSON has these: what a person does next depends on none of them.
    let others: Set = ["hold", "references", "coalesce"]
    var json = JSONWriter()
    json.object { json in
      for name in Self.names where name != "sequence" {
        json.member(name, name == "notBefore" || name == "expiresAt" ? Self.time(name) : "=\(name)")
      }
      json.member("sequence", 4_711)
    }
    let details = EnvelopeDetails(
      envelope: try JSONValue.parse(json.finish()).object(), answer: nil, serverOption: "",
      terminal: .plain, now: WallTime(millisecondsSinceEpoch: 0))
    let text = details.lines().joined(separator: "\n")
    let shown = Self.names.filter { name in
      switch name {
      case "sequence": text.contains("4711")
      case "notBefore", "expiresAt": text.contains(Self.time(name).prefix(10))
      default: text.contains("=\(name)")
      }
    }
    let lacking = Self.names.subtracting(Self.unseen).subtracting(others).symmetricDifference(shown)
    #expect(lacking.isEmpty, "show these, or say here why not")
  }

  private static func time(_ name: String) -> String {
    name == "notBefore" ? "2031-01-02T03:04:05.000Z" : "2032-01-02T03:04:05.000Z"
  }

  @Test("the page shows each field that the relay tells, but for two")
  func page() throws {
    // A hold is over once somebody has run it, and is a state until then; of references the path
    // and the body tell.
    let others: Set = ["hold", "references"]
    let path = #filePath.components(separatedBy: "/Tests/")[0] + "/Sources/CPage/files/story.js"
    let script = try String(contentsOfFile: path, encoding: .utf8)
    let members = Set(script.matches(of: /envelope\.(\w+)/).map { String($0.1) })
    let read = Self.names.intersection(members)
    let lacking = Self.names.subtracting(Self.unseen).subtracting(others).symmetricDifference(read)
    #expect(lacking.isEmpty, "show these, or say here why not")
  }
}

@Suite("The states of an envelope that people are shown")
struct ShownStateTests {
  @Test("the status counts each state")
  func status() {
    #expect(Set(StatusText.states) == Set(EnvelopeState.allCases))
    #expect(StatusText.states.count == EnvelopeState.allCases.count)
  }
}
