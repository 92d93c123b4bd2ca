import Foundation

/// The documents that repeat what a record says.
enum Documents {
  /// The text of a file, by its path from the top of the repository.
  static func text(_ path: String) throws -> String {
    let top = #filePath.components(separatedBy: "/Tests/")[0]
    return try String(contentsOfFile: "\(top)/\(path)", encoding: .utf8)
  }

  /// All files of the sources, by their paths.
  static func sources() throws -> [(path: String, text: String)] {
    let top = #filePath.components(separatedBy: "/Tests/")[0] + "/Sources"
    let paths = FileManager.default.enumerator(atPath: top)?.compactMap { $0 as? String } ?? []
    return try paths.filter { $0.hasSuffix(".swift") }.map { path in
      (path, try String(contentsOfFile: "\(top)/\(path)", encoding: .utf8))
    }
  }

  /// The rows of the table with this head in a page, each as the texts of its cells; none if the
  /// page has no such table.
  static func table(_ head: String, in path: String) throws -> [[String]] {
    let lines = try text(path).components(separatedBy: "\n")
    guard let start = lines.firstIndex(where: { $0.hasPrefix("| \(head) |") }) else { return [] }
    return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { row in
      // An empty cell has one blank between its bars, so cells are parted by the bars alone.
      row.dropFirst().dropLast().replacingOccurrences(of: "\\|", with: "\u{1}")
        .components(separatedBy: "|").map {
          $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "\u{1}", with: "\\|")
        }
    }
  }

  /// What stands in backquotes in a text, in its order.
  static func quoted(in text: String) -> [String] {
    text.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
  }

  /// The lines of a schema of `openapi.yaml`, without those of the next one.
  static func schema(_ name: String) throws -> [String] {
    let lines = try text("openapi.yaml").components(separatedBy: "\n")
    guard let start = lines.firstIndex(of: "    \(name):") else { return [] }
    return Array(lines[(start + 1)...].prefix { $0.isEmpty || $0.hasPrefix("     ") })
  }

  /// The words of a schema that is an enumeration with a line for each of them.
  static func words(ofSchema name: String) throws -> [String] {
    try schema(name).drop { $0 != "      enum:" }.dropFirst().prefix { $0.hasPrefix("        - ") }
      .map { String($0.dropFirst(10)) }
  }

  /// The names of a schema's properties.
  static func properties(ofSchema name: String) throws -> [String] {
    let lines = try schema(name).drop { $0 != "      properties:" }.dropFirst()
    return lines.prefix { $0.isEmpty || $0.hasPrefix("       ") }.compactMap { line in
      guard line.hasPrefix("        "), !line.hasPrefix("         ") else { return nil }
      return line.dropFirst(8).split(separator: ":").first.map(String.init)
    }
  }
}
