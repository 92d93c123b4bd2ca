/// A table of text: columns as wide as they need to be, cut at the terminal's edge.
struct TextTable {
  /// One cell; its text is made safe for a terminal.
  struct Cell {
    let text: String
    let style: Terminal.Style?

    init(_ text: String?, _ style: Terminal.Style? = nil) {
      self.text = SafeText.line(text ?? "")
      self.style = style
    }
  }

  /// A column's title, and whether it holds numbers, which are aligned on the right.
  struct Column {
    let title: String
    var isNumber = false
  }

  private let columns: [Column]
  private var rows: [[Cell]] = []
  private static let gap = "  "

  /// - Parameter titles: The columns' titles; one that begins with `#` is for numbers.
  init(_ titles: String...) {
    columns = titles.map { title in
      title.hasPrefix("#")
        ? Column(title: String(title.dropFirst()), isNumber: true) : Column(title: title)
    }
  }

  var isEmpty: Bool { rows.isEmpty }

  mutating func add(_ cells: Cell...) { rows.append(cells) }

  mutating func add(_ cells: [Cell]) { rows.append(cells) }

  /// The lines, with the titles first.
  func lines(on terminal: Terminal) -> [String] {
    let titles = columns.map { Cell($0.title, .faint) }
    var widths = columns.indices.map { index in
      ([titles] + rows).map { SafeText.width($0[index].text) }.max() ?? 0
    }
    if let room = terminal.columns { Self.fit(&widths, into: room) }
    return ([titles] + rows).map { row in line(row, widths, terminal) }
  }

  /// Narrows the last column, and then the widest ones, until all fit.
  private static func fit(_ widths: inout [Int], into room: Int) {
    func excess() -> Int { widths.reduce(0, +) + gap.count * (widths.count - 1) - room }
    if excess() > 0, let last = widths.indices.last {
      widths[last] = max(min(widths[last], 12), widths[last] - excess())
    }
    while excess() > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
      widths[widest] > 6
    {
      widths[widest] -= 1
    }
  }

  private func line(_ row: [Cell], _ widths: [Int], _ terminal: Terminal) -> String {
    var line = ""
    for index in columns.indices {
      let text = Self.cut(row[index].text, to: widths[index])
      let blank = String(repeating: " ", count: max(0, widths[index] - SafeText.width(text)))
      let styled = terminal.styled(text, text.isEmpty ? nil : row[index].style)
      if index > 0 { line += Self.gap }
      if columns[index].isNumber {
        line += blank + styled
      } else {
        line += index == columns.count - 1 ? styled : styled + blank
      }
    }
    while line.hasSuffix(" ") { line.removeLast() }
    return line
  }

  static func cut(_ text: String, to width: Int) -> String {
    guard SafeText.width(text) > width else { return text }
    var short = ""
    for character in text {
      guard SafeText.width(short) + SafeText.width(String(character)) < width else { break }
      short.append(character)
    }
    return short + "…"
  }
}
