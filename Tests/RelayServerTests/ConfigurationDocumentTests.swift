import Foundation
import RelayCore
import RelayServer
import Testing

@Suite("What the documents say of the configuration")
struct ConfigurationDocumentTests {
  private func document(_ path: String) throws -> String {
    let top = #filePath.components(separatedBy: "/Tests/")[0]
    return try String(contentsOfFile: "\(top)/\(path)", encoding: .utf8)
  }

  /// The paths of all values: `limits.bodyBytesMax`, and `retry.factor` for each upstream's.
  private func keys(_ object: [String: Any], below path: String = "") -> [String] {
    object.flatMap { key, value in
      let inner = value as? [String: Any]
      switch (path, key) {
      case ("", "upstreams"), ("", "lanes"), ("", "clients"):
        return (inner?.values.first as? [String: Any]).map { keys($0) } ?? []
      case (_, "headers"): return [path + key]
      // The limits have a table of their own, without the word before each.
      case ("", "limits"): return inner.map { keys($0) } ?? []
      default: return inner.map { keys($0, below: path + key + ".") } ?? [path + key]
      }
    }
  }

  @Test("every key is described in the reference, with its default")
  func everyKey() throws {
    let configuration = try Fixture.configuration(["default"]) {
      $0.lanes = LaneRulesTable([.init(pattern: "*", value: LaneRules())])
      $0.clients = ClientRulesTable([.init(pattern: "*", value: ClientRules())])
    }
    let printed = try JSONSerialization.jsonObject(with: Data(configuration.description.utf8))
    let page = try document("docs/configuration.md")
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
    let found = try keys(#require(printed as? [String: Any]))
    #expect(found.count > 30)
    for key in found {
      #expect(rows.contains { $0.hasPrefix("| `\(key)` |") }, "\(key) stands in no table")
    }
  }

  @Test("a number's default in the reference is the one in force")
  func defaults() throws {
    let configuration = try Fixture.configuration(["default"])
    let printed = try #require(
      JSONSerialization.jsonObject(with: Data(configuration.description.utf8)) as? [String: Any])
    let upstream = try #require((printed["upstreams"] as? [String: Any])?["default"])
    let values = [printed, upstream, printed["limits"] as Any].compactMap { $0 as? [String: Any] }
    var compared = 0
    for row in try document("docs/configuration.md").split(separator: "\n")
    where row.hasPrefix("| `") {
      let cells = row.components(separatedBy: " | ")
      guard cells.count == 3, let shown = Double(cells[1]) else { continue }
      let path = cells[0].dropFirst(3).dropLast().components(separatedBy: ".")
      let inForce = values.lazy.compactMap { value in
        path.reduce(value as Any?) { ($0 as? [String: Any])?[$1] } as? NSNumber
      }.first
      #expect(inForce?.doubleValue == shown, "\(row)")
      compared += 1
    }
    #expect(compared > 25)
  }

  @Test("the smallest and the whole example of the reference are good")
  func examples() throws {
    let page = try document("docs/configuration.md")
    let blocks = page.components(separatedBy: "```json\n").dropFirst()
    #expect(!blocks.isEmpty)
    for block in blocks {
      let text = block.components(separatedBy: "```")[0]
      _ = try loadConfiguration(
        text,
        environment: [
          "API_TOKEN": "t", "FLEET_1_SECRET": String(repeating: "0f", count: 32),
          "SIGNING_KEY": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ]
      ).get()
    }
  }
}
