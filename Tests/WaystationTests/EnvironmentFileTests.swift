import Testing

@testable import waystation

@Suite("Files of variables")
struct EnvironmentFileTests {
  private func read(_ text: String) throws -> EnvironmentFile {
    try EnvironmentFile(Array(text.utf8))
  }

  /// Files, and the value that systemd takes from each (`parse_env_file`).
  static let values: [(String, String)] = [
    ("A=b", "b"), ("A=b\n", "b"), ("  A = b  \n", "b"), ("A=b c \t\r\n", "b c"), ("A=\n", ""),
    ("A=", ""), ("A='b  c'", "b  c"), ("A='b\nc'", "b\nc"), ("A='b\\'", "b\\"),
    ("A=\"b \\\"c\\\" \\$d \\n\"", "b \"c\" $d \\n"), ("A=\"b\\\nc\"", "bc"),
    ("A=b\\\nc", "bc"), ("A=b\\ c\\\\", "b c\\"), ("A=b\\ ", "b "), ("A=\"b\" 'c' d ", "bcd"),
    ("A=b\"c\"", "b\"c\""), ("A=b#c;d", "b#c;d"), ("# x\n; y\nA=b", "b"), ("A=a\nA=b", "b"),
    ("A=$B ${C}", "$B ${C}"), ("A==b", "=b"),
  ]

  @Test("values are quoted, continued and trimmed as systemd has it", arguments: values)
  func value(text: String, expected: String) throws {
    let file = try read(text)
    #expect(file.variables == ["A": expected])
    #expect(file.ignoredLines == [])
  }

  @Test("a line that assigns nothing to a variable is told by its number, and the others count")
  func ignored() throws {
    let file = try read("export A=1\n\nB\nC='x\ny'\n1D=2\nE=3\nF")
    #expect(file.variables == ["C": "x\ny", "E": "3"])
    #expect(file.ignoredLines == [1, 3, 6, 8])
  }

  @Test("what systemd would not read at all is refused")
  func refused() {
    #expect(throws: EnvironmentFile.Fault.self) { try EnvironmentFile([0x41, 0x3D, 0xFF]) }
    #expect(throws: EnvironmentFile.Fault.self) { try EnvironmentFile([0x41, 0x3D, 0x00]) }
    let long = [UInt8](repeating: 0x0A, count: EnvironmentFile.bytesMax + 1)
    #expect(throws: EnvironmentFile.Fault.self) { try EnvironmentFile(long) }
  }
}
