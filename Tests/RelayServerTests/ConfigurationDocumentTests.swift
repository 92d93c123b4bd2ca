import Foundation
import RelayCore
import RelayServer
import Testing

@Suite("What the documents say of the configuration")
struct ConfigurationDocumentTests {
  private static let path =
    #filePath.components(separatedBy: "/Tests/")[0] + "/docs/configuration.md"

  /// The page with its tables made anew from the keys' records; each stands below a mark.
  private func rewritten(_ page: String) throws -> String {
    var page = page
    for table in try Fixture.configuration(["default"]).reference() {
      let parts = page.components(separatedBy: "<!-- keys: \(table.name) -->\n\n")
      try #require(parts.count == 2, "the mark of the table \(table.name) stands there once")
      let lines = parts[1].components(separatedBy: "\n")
      let rest = lines.drop { $0.hasPrefix("|") }
      let rows = table.rows.map {
        "| `\($0.path)` | \($0.values) | \($0.default) | \($0.meaning) |"
      }
      page = parts[0] + "<!-- keys: \(table.name) -->\n\n"
      page += (lines.prefix(2) + rows + rest).joined(separator: "\n")
    }
    return page
  }

  @Test("the tables say of each key what its record says; `make reference` writes them")
  func tables() throws {
    let page = try String(contentsOfFile: Self.path, encoding: .utf8)
    let good = try rewritten(page)
    if ProcessInfo.processInfo.environment["WAYSTATION_WRITE_REFERENCE"] != nil {
      try good.write(toFile: Self.path, atomically: true, encoding: .utf8)
      return
    }
    let written = page.components(separatedBy: "\n")
    let wanted = good.components(separatedBy: "\n")
    for line in Set(wanted).subtracting(written) {
      Issue.record("docs/configuration.md lacks this line; `make reference` writes it: \(line)")
    }
    for line in Set(written).subtracting(wanted) {
      Issue.record(
        "docs/configuration.md has this line too much; `make reference` mends it: \(line)")
    }
    let isSame = page == good
    #expect(isSame, "docs/configuration.md differs from the records; run `make reference`")
  }

  @Test("every table of keys stands below a mark, so that it is held to the records")
  func marks() throws {
    let lines = try String(contentsOfFile: Self.path, encoding: .utf8).components(separatedBy: "\n")
    for (number, line) in lines.enumerated() where line.hasPrefix("| key |") {
      let above = lines[..<number].last { !$0.isEmpty }
      #expect(above?.hasPrefix("<!-- keys:") == true, "line \(number + 1)")
    }
  }

  @Test("a row of the reference has a type or bounds, a default and a meaning")
  func rows() throws {
    let rows = try Fixture.configuration(["default"]).reference().flatMap(\.rows)
    #expect(rows.count > 110)
    for row in rows {
      #expect(!row.values.isEmpty && !row.meaning.isEmpty && !row.meaning.contains("|"), "\(row)")
    }
  }

  @Test("the smallest and the whole example of the reference are good")
  func examples() throws {
    let page = try String(contentsOfFile: Self.path, encoding: .utf8)
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
