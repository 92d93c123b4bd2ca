import Foundation
import RelayServer
import Testing

@Suite("What the documents say of problems")
struct ProblemDocumentTests {
  private static let prefix = "urn:waystation:problem:"

  @Test("the contract lists every type, and none that there is not")
  func contract() throws {
    let listed = try Documents.words(ofSchema: "ProblemType")
    let types = ProblemKind.allCases.map(\.type)
    for type in Set(types).subtracting(listed).sorted() {
      Issue.record("ProblemType of openapi.yaml lacks \(type)")
    }
    for type in Set(listed).subtracting(types).sorted() {
      Issue.record("ProblemType of openapi.yaml has \(type), and there is no such kind")
    }
    #expect(Set(listed).count == listed.count, "no type stands twice")
  }

  @Test("the protocol's table has every kind with its status, and none that there is not")
  func protocolTable() throws {
    let rows = try Documents.table("problem | status", in: "docs/protocol.md")
    var listed: [String: String] = [:]
    for row in rows {
      let name = row[0].trimmingCharacters(in: ["`"])
      #expect(listed.updateValue(row[1], forKey: name) == nil, "\(name) stands twice")
      #expect(row.count == 4 && !row.contains(""), "\(name): a cell of its row is empty")
    }
    for kind in ProblemKind.allCases {
      let record = kind.record
      let statuses = [record.statusInPath, record.status].compactMap { $0.map(String.init) }
      #expect(
        listed.removeValue(forKey: kind.rawValue) == statuses.joined(separator: ", "),
        "docs/protocol.md, the row of \(kind.rawValue)")
    }
    for name in listed.keys.sorted() {
      Issue.record("docs/protocol.md has \(name), and there is no such problem")
    }
  }

  @Test(
    "every type that a page or the contract names exists, and examples have its title",
    arguments: [
      "openapi.yaml", "README.md", "docs/protocol.md", "docs/operating.md", "docs/configuration.md",
    ])
  func examples(_ path: String) throws {
    let lines = try Documents.text(path).components(separatedBy: "\n")
    for (number, line) in lines.enumerated() {
      let parts = line.components(separatedBy: Self.prefix)
      for part in parts.dropFirst() where !part.hasPrefix("<") && !part.hasPrefix("`") {
        let name = String(part.prefix { $0.isLetter || $0 == "-" })
        guard let kind = ProblemKind(rawValue: name) else {
          Issue.record("\(path):\(number + 1): there is no problem \(name)")
          continue
        }
        let next = number + 1 < lines.count ? lines[number + 1] : ""
        let title = next.trimmingCharacters(in: [" ", ",", "\""]).components(separatedBy: "title")
        guard title.count == 2, title[0].isEmpty else { continue }
        #expect(
          title[1].trimmingCharacters(in: [" ", ":", "\""]) == kind.title, "\(path):\(number + 2)")
      }
    }
  }

  @Test("a status that stands behind a problem's name in the contract is its status")
  func statuses() throws {
    let words = try Documents.schema("ProblemType").joined(separator: " ")
      .components(separatedBy: "`")
    var count = 0
    for (word, behind) in zip(words, words.dropFirst()) {
      guard let kind = ProblemKind(rawValue: word),
        let status = Int(behind.trimmingCharacters(in: .whitespaces).prefix(3))
      else { continue }
      count += 1
      #expect(kind.status == status, "\(word)")
    }
    #expect(count > 10)
  }
}
