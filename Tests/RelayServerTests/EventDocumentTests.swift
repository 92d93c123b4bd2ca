import Foundation
import RelayCore
import Testing

@Suite("What the documents say of events")
struct EventDocumentTests {
  private func document(_ path: String) throws -> String {
    let top = #filePath.components(separatedBy: "/Tests/")[0]
    return try String(contentsOfFile: "\(top)/\(path)", encoding: .utf8)
  }

  @Test("every kind of event stands in the protocol's table and in the contract")
  func everyKind() throws {
    let rows = try document("docs/protocol.md").split(separator: "\n").filter {
      $0.hasPrefix("| `")
    }
    let contract = try document("openapi.yaml").components(separatedBy: "    EventName:\n")
    let names = try #require(contract.last?.components(separatedBy: "    Event:\n").first)
    for kind in EventKind.allCases {
      let isInTable = rows.contains { row in
        row.components(separatedBy: " | ")[0].contains("`\(kind.rawValue)`")
      }
      #expect(isInTable, "\(kind) stands in no table of docs/protocol.md")
      #expect(names.contains("- \(kind.rawValue)\n"), "\(kind) is not in openapi.yaml")
    }
  }
}
