import Foundation

/// A document of the repository whose commands are run: its `sh` blocks, by the heading over each.
struct ShellDocument {
  /// One block, as it stands.
  struct Block {
    /// The words of the nearest heading above it.
    let heading: String
    let text: String
  }

  /// The repository, found from this file.
  static let repository = #filePath.components(separatedBy: "/Tests/")[0]

  let path: String
  /// The whole document.
  let text: String
  /// The blocks, in order.
  let blocks: [Block]

  /// Reads a document.
  ///
  /// - Parameter path: From the repository's top.
  init(_ path: String) throws {
    self.path = path
    text = try String(contentsOfFile: Self.repository + "/" + path, encoding: .utf8)
    var blocks: [Block] = []
    var heading = ""
    var fence: Substring?
    var lines: [Substring] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      // Within a list a block is indented.
      let code = line.drop { $0 == " " }
      guard let open = fence else {
        if line.hasPrefix("#") {
          heading = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces)
        }
        if code.hasPrefix("```") { (fence, lines) = (code, []) }
        continue
      }
      if code != "```" {
        lines.append(line)
      } else {
        let indent = line.count - code.count
        let text = lines.map { $0.dropFirst(indent) }.joined(separator: "\n")
        if open == "```sh" { blocks.append(Block(heading: heading, text: text)) }
        fence = nil
      }
    }
    self.blocks = blocks
  }

  /// The blocks right under a heading.
  func blocks(under heading: String) -> [String] {
    blocks.filter { $0.heading == heading }.map(\.text)
  }

  /// The code within sentences that begins with a word, each on one line.
  func commands(beginning word: String) -> [String] {
    let outside = text.components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 0 }
    return outside.flatMap { part in
      part.element.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }
        .map { $0.element.split { $0.isWhitespace }.joined(separator: " ") }
    }.filter { $0.hasPrefix(word) }
  }
}
